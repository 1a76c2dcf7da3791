/* What a measured run is made of: its work by formula, and its time by part. Pure functions. */
#ifndef CLEF_ENGINE_MEASURE_WORK_H
#define CLEF_ENGINE_MEASURE_WORK_H

#include <clef/measure.h>

#include "backend/profile.h"
#include "model/network.h"

/* Operations and tokens of sequences of equal length; weight_bytes of one step. */
clef_measured clef_measured_work(const clef_network *network, size_t sequences, size_t tokens);

/* Of one picture in one frame through the vision tower; weight_bytes of one block of rows. */
clef_measured clef_measured_vision_work(const clef_network *network, size_t patches);

/* Shares out total_ns: operations of the profile to their parts, the head's part as it is, and what
 * is left to the rest. */
void clef_measured_split(clef_measured *measured, const clef_profile *profile);

#endif
