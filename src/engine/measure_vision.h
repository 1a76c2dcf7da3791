/* Measuring of the vision tower alone: one picture of random patches, again and again. Behind the
 * clef_measure handle (measure_run.c) when a number of patches is asked for. */
#ifndef CLEF_ENGINE_MEASURE_VISION_H
#define CLEF_ENGINE_MEASURE_VISION_H

#include <clef/measure.h>

typedef struct clef_vision_measure clef_vision_measure;

/* A picture as near to a square as its number of patches allows, in blocks of rows_per_step. The
 * model must outlive it. CLEF_USAGE for a model without a tower or options out of range;
 * CLEF_OUT_OF_MEMORY before any large memory is taken. */
clef_status clef_vision_measure_create(clef_model *model, const clef_measure_options *options,
                                       clef_vision_measure **out, clef_error *error);
void clef_vision_measure_destroy(clef_vision_measure *measure);

clef_peak clef_vision_measure_peak(const clef_vision_measure *measure);

clef_status clef_vision_measure_run(clef_vision_measure *measure, clef_measured *measured,
                                    clef_error *error);

#endif
