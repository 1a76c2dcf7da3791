/* FNV-1a over the tokens, then one draw for each option, mixed as in SplitMix64. */
#include "engine/made_answers.h"

static uint64_t mix(uint64_t value) {
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

void clef_made_answers_fill(const clef_record *record, float *logits) {
    const clef_head_task *task = &record->task;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < task->token_count; i++) {
        hash = (hash ^ task->tokens[i]) * UINT64_C(0x100000001b3);
    }
    for (size_t j = 0; j < task->option_total; j++) {
        uint64_t drawn = mix(hash + (j + 1) * UINT64_C(0x9e3779b97f4a7c15));
        /* 24 bits are exact in a float. */
        logits[j] = (float)(drawn >> 40) * (4.0F / 16777216.0F) - 2.0F;
    }
}
