/* The meter: the backend's peaks behind a handle. */
#include "engine/handles.h"

#include <clef/measure.h>

#include "backend/cpu/machine_peak.h"
#include "base/memory.h"
#include "base/system_memory.h"

/* Well above the last cache of today's servers. */
#define READ_BYTES ((uint64_t)512 << 20)

struct clef_meter {
    clef_runtime *runtime;
    clef_machine_peak peak;
};

static const clef_machine_peak_kind kinds[CLEF_PEAK_COUNT] = {
    [CLEF_PEAK_F32] = CLEF_MACHINE_PEAK_FMA,
    [CLEF_PEAK_BF16] = CLEF_MACHINE_PEAK_BF16_DOT,
    [CLEF_PEAK_INT8] = CLEF_MACHINE_PEAK_INT8_DOT,
    [CLEF_PEAK_READ] = CLEF_MACHINE_PEAK_READ,
};

const char *clef_peak_name(clef_peak peak) {
    static const char *const names[CLEF_PEAK_COUNT] = {"f32", "bf16", "int8", "read"};
    return peak < CLEF_PEAK_COUNT ? names[peak] : "unknown";
}

clef_status clef_meter_create(clef_runtime *runtime, clef_meter **out, clef_error *error) {
    *out = NULL;
    clef_meter *meter = clef_allocate(1, sizeof *meter);
    if (meter == NULL) {
        return clef_fail_memory(error, sizeof *meter, "a meter");
    }
    meter->runtime = clef_runtime_share(runtime);
    uint64_t spare = clef_system_memory_available() / 8;
    clef_level level = CLEF_LEVEL_reference;
    (void)clef_level_parse(runtime->level, &level); /* a runtime's level has a name of the list */
    clef_status status = clef_machine_peak_create(level, runtime->pool,
                                                  (size_t)(spare < READ_BYTES ? spare : READ_BYTES),
                                                  &meter->peak, error);
    if (status != CLEF_OK) {
        clef_meter_close(meter);
        return status;
    }
    *out = meter;
    return CLEF_OK;
}

void clef_meter_close(clef_meter *meter) {
    if (meter != NULL) {
        clef_machine_peak_release(&meter->peak);
        clef_runtime_close(meter->runtime);
        clef_release(meter);
    }
}

uint64_t clef_meter_bytes(const clef_meter *meter) {
    return meter->peak.word_count * sizeof *meter->peak.words;
}

static bool is_dot_product(clef_peak peak) {
    return peak == CLEF_PEAK_BF16 || peak == CLEF_PEAK_INT8;
}

double clef_meter_sample(clef_meter *meter, clef_peak peak) {
    double best = clef_machine_peak_sample(&meter->peak, kinds[peak]);
    double fma =
        is_dot_product(peak) ? clef_machine_peak_sample(&meter->peak, CLEF_MACHINE_PEAK_FMA) : 0;
    return fma > best ? fma : best;
}

double clef_meter_peak(const clef_meter *meter, clef_peak peak) {
    double best = meter->peak.best[kinds[peak]];
    double fma = meter->peak.best[CLEF_MACHINE_PEAK_FMA];
    return is_dot_product(peak) && fma > best ? fma : best;
}
