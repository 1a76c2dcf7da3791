/* For measuring: models of a shape by formula, peaks of the machine, time by part.
 *
 *     clef_runtime
 *       clef_meter     what this machine can do at most
 *       clef_model     opened from files, or made by formula
 *         clef_measure   runs steps of random tokens through a model, again and again
 *
 * For benchmarks and for choosing machines; nothing here is needed to get answers. The rules of
 * clef.h hold: opaque handles, children hold a reference to their parents, every close accepts
 * NULL, one thread at a time for each handle. */
#ifndef CLEF_MEASURE_H
#define CLEF_MEASURE_H

#include <clef/clef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- peaks of the machine ------------------------------------------------------------------ */

typedef struct clef_meter clef_meter;

typedef enum clef_peak {
    CLEF_PEAK_F32,  /* fp32 multiply-adds; operations a second, two each */
    CLEF_PEAK_BF16, /* bfloat16 dot products; likewise */
    CLEF_PEAK_INT8, /* int8 dot products; likewise */
    CLEF_PEAK_READ, /* reading memory; bytes a second */
    CLEF_PEAK_COUNT
} clef_peak;

/* "f32", "bf16", "int8", "read"; static. */
CLEF_API const char *clef_peak_name(clef_peak peak);

/* A meter for the runtime's threads and level. It holds memory to read, half a gigabyte or an
 * eighth of what is available. CLEF_OUT_OF_MEMORY. */
CLEF_API clef_status clef_meter_create(clef_runtime *runtime, clef_meter **meter,
                                       clef_error *error);
CLEF_API void clef_meter_close(clef_meter *meter);

/* Bytes of memory that the meter holds. */
CLEF_API uint64_t clef_meter_bytes(const clef_meter *meter);

/* A few short runs on all threads, some ten milliseconds each; returns the best of them. The speed
 * of a machine changes with time: call this between the runs of what is compared with it. */
CLEF_API double clef_meter_sample(clef_meter *meter, clef_peak peak);

/* The best of all runs so far; 0 before the first. A number type that the level has no instruction
 * for can be computed as fp32, so its peak is never below that of fp32. */
CLEF_API double clef_meter_peak(const clef_meter *meter, clef_peak peak);

/* ---- models by formula --------------------------------------------------------------------- */

typedef struct clef_shape_options {
    uint32_t layer_count; /* the first layers of the shape; 0: all */
    /* Matrices are stored as clef_model_quantize would with this recipe ("int8", "int4", "mixed" or
     * JSON); NULL: in bfloat16, as published. */
    const char *recipe;
    clef_precision precision; /* of matrices that are not quantised */
    bool with_vision;         /* the shape's vision tower as well */
} clef_shape_options;

/* Names of the shapes, separated by spaces; static. */
CLEF_API const char *clef_shape_names(void);

/* A model of that shape whose weights are random numbers of a sensible size, with a vocabulary of
 * 4,096 and no tokenizer: it can be measured, but reads no text and its answers would mean nothing.
 * CLEF_USAGE for an unknown shape, too many layers or a recipe nobody can honour;
 * CLEF_OUT_OF_MEMORY, with the bytes needed and the bytes available, before any is taken. */
CLEF_API clef_status clef_model_make(clef_runtime *runtime, const char *shape,
                                     const clef_shape_options *options, clef_model **model,
                                     clef_error *error);

/* ---- time by part -------------------------------------------------------------------------- */

typedef struct clef_measure clef_measure;

typedef struct clef_measure_options {
    uint32_t sequence_count; /* 0: 1; at most 65,536 */
    uint32_t token_count;    /* of each sequence; 0: 512; at most the context of the model */
    uint32_t rows_per_step;  /* as in clef_session_options */
    uint32_t layer_count;    /* the first layers of the model; 0: all */
    /* Not 0: in place of tokens, one picture of so many patches through the vision tower, whose
     * blocks layer_count counts. A multiple of the patches of a merged cell; at most 65,536. */
    uint32_t patch_count;
} clef_measure_options;

/* What is measured: all tokens of all sequences, in steps packed as a session packs them. A model
 * with a head also observes every step and, for a sequence of 64 tokens or more, decides three
 * questions with eleven options at its end. Takes all memory that this needs. CLEF_USAGE for
 * options out of range or a model opened as tokenizer only; CLEF_OUT_OF_MEMORY, with the bytes
 * needed and the bytes available, before any is taken. */
CLEF_API clef_status clef_measure_create(clef_model *model, const clef_measure_options *options,
                                         clef_measure **measure, clef_error *error);
CLEF_API void clef_measure_close(clef_measure *measure);

/* The peak that the model's matrix products are held against. */
CLEF_API clef_peak clef_measure_peak(const clef_measure *measure);

typedef enum clef_part {
    CLEF_PART_MATRIX_PRODUCTS, /* of layers or tower, with the rounding of their inputs */
    CLEF_PART_DELTA_RULE,      /* delta layers without their matrix products */
    CLEF_PART_ATTENTION,       /* attention of layers or tower without its matrix products */
    CLEF_PART_HEAD,            /* everything of the joint head */
    CLEF_PART_REST,            /* embedding, norms, activations, additions, what lies between */
    CLEF_PART_COUNT
} clef_part;

/* "matrix_products", "delta_rule", "attention", "head", "rest"; static. */
CLEF_API const char *clef_part_name(clef_part part);

/* One run over all tokens. */
typedef struct clef_measured {
    uint64_t total_ns;
    uint64_t part_ns[CLEF_PART_COUNT]; /* their sum is total_ns */
    uint64_t token_count;              /* of all sequences; feature rows of a picture */
    uint64_t step_count;
    /* Work by formula, the same in every run. matrix: two operations for each weight of the layers'
     * matrices and token (or patch; of the merger: merged cell). delta: 7·DK·DV for each value
     * head, layer and token, which is what the recurrence needs, however it is computed. attention:
     * 4·D for each query head, layer and pair of a token and one not behind it, or of two patches.
     */
    double matrix_operations, delta_operations, attention_operations;
    /* What has to pass between memory and processor: the layers' matrices as stored, with scales,
     * once for each step; and the states of delta layers, read and written once for each step and
     * sequence in it. Not counted: keys and values, activations. */
    double weight_bytes, state_bytes;
} clef_measured;

/* Runs once. The first run also brings weights into memory: let it warm up and do not count it.
 * CLEF_INTERNAL when a number is not finite; CLEF_OUT_OF_MEMORY. */
CLEF_API clef_status clef_measure_run(clef_measure *measure, clef_measured *measured,
                                      clef_error *error);

#ifdef __cplusplus
}
#endif
#endif
