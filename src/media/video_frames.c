/* Sampling and times, in the reference's arithmetic: doubles, truncation where Python truncates,
 * half to even where numpy rounds. */
#include "media/video_frames.h"

#include "media/media_error.h"

#include <math.h>
#include <stdio.h>

/* Frames a second: assumed of a list without metadata, and sampled. */
#define ASSUMED_RATE 24.0
#define SAMPLED_RATE 2.0
#define FRAME_LEAST  4
/* Slower rates give times that nobody can mean; and they keep labels short. */
#define RATE_LEAST  1e-6
#define INDEX_LIMIT 1000000000

static clef_status check_rate(const char *name, double rate, clef_error *error) {
    if (isfinite(rate) && rate >= RATE_LEAST) {
        return CLEF_OK;
    }
    return clef_fail_media(error, CLEF_BAD_REQUEST,
                           "%s is %g; it must be a finite number of frames a second, at least %g",
                           name, rate, RATE_LEAST);
}

static clef_status check_rates(const clef_video_options *options, clef_error *error) {
    clef_status status = CLEF_OK;
    if (options->has_rate) {
        status = check_rate("fps", options->rate, error);
    }
    if (status == CLEF_OK && options->has_metadata_rate) {
        status = check_rate("video_metadata.fps", options->metadata_rate, error);
    }
    return status;
}

static double usual_rate(const clef_video_options *options) {
    return options->usual_rate > 0 ? options->usual_rate : SAMPLED_RATE;
}

static clef_status check_target(const clef_video_options *options, clef_error *error) {
    if (!options->has_frame_target) {
        return CLEF_OK;
    }
    if (!options->has_no_rate) {
        return clef_fail_media(error, CLEF_BAD_REQUEST,
                               "num_frames and fps exclude each other, and fps is %g unless "
                               "\"fps\": null stands beside num_frames",
                               usual_rate(options));
    }
    if (options->frame_target < 1 || options->frame_target > CLEF_VIDEO_FRAME_LIMIT) {
        return clef_fail_media(error, CLEF_BAD_REQUEST, "num_frames is %llu; it must be 1 to %d",
                               (unsigned long long)options->frame_target, CLEF_VIDEO_FRAME_LIMIT);
    }
    return CLEF_OK;
}

/* Frames that sampling may take from: the metadata may name fewer than there are. */
static clef_status count_known_frames(uint32_t frame_count, const clef_video_options *options,
                                      uint32_t *known, clef_error *error) {
    *known = frame_count;
    if (!options->has_metadata_frame_count) {
        return CLEF_OK;
    }
    if (options->metadata_frame_count < 1 || options->metadata_frame_count > frame_count) {
        return clef_fail_media(error, CLEF_BAD_REQUEST,
                               "video_metadata.total_num_frames is %llu, but the video has %u "
                               "frames",
                               (unsigned long long)options->metadata_frame_count, frame_count);
    }
    *known = (uint32_t)options->metadata_frame_count;
    return CLEF_OK;
}

/* Whole number nearest to x ≥ 0, half to even. */
static uint32_t round_half_even(double x) {
    double whole = floor(x), rest = x - whole;
    uint32_t below = (uint32_t)whole;
    return below + (rest > 0.5 || (rest == 0.5 && below % 2 == 1));
}

static double rate_of(const clef_video_options *options) {
    return options->has_metadata_rate ? options->metadata_rate : ASSUMED_RATE;
}

static uint32_t count_samples(uint32_t known, const clef_video_options *options) {
    if (options->has_frame_target) {
        return (uint32_t)options->frame_target;
    }
    double rate = options->has_rate ? options->rate : usual_rate(options);
    double wanted = floor(known / rate_of(options) * rate);
    uint32_t limit = options->frames_most != 0 && options->frames_most < CLEF_VIDEO_FRAME_LIMIT
                         ? options->frames_most
                         : CLEF_VIDEO_FRAME_LIMIT;
    uint32_t most = known < limit ? known : limit;
    wanted = fmax(wanted, options->frames_least != 0 ? options->frames_least : FRAME_LEAST);
    return wanted < most ? (uint32_t)wanted : most;
}

/* Evenly from the first frame to the last. */
static void spread_samples(uint32_t known, uint32_t count, uint32_t *indices) {
    double step = count > 1 ? (known - 1) / (double)(count - 1) : 0.0;
    for (uint32_t i = 0; i < count; i++) {
        indices[i] = round_half_even(i * step);
    }
    if (count > 1) {
        indices[count - 1] = known - 1;
    }
}

static clef_status take_all(uint32_t frame_count, const clef_video_options *options,
                            clef_video_plan *plan, clef_error *error) {
    if (frame_count > CLEF_VIDEO_FRAME_LIMIT) {
        return clef_fail_media(error, CLEF_BAD_REQUEST,
                               "the video has %u frames, and without sampling all are used; at "
                               "most %d can be",
                               frame_count, CLEF_VIDEO_FRAME_LIMIT);
    }
    if (options->metadata_indices != NULL && options->metadata_index_count != frame_count) {
        return clef_fail_media(error, CLEF_BAD_REQUEST,
                               "video_metadata.frames_indices has %zu entries, but the video has "
                               "%u frames",
                               options->metadata_index_count, frame_count);
    }
    plan->frame_count = frame_count;
    for (uint32_t i = 0; i < frame_count; i++) {
        plan->indices[i] = i;
        if (options->metadata_indices != NULL && options->metadata_indices[i] > INDEX_LIMIT) {
            return clef_fail_media(error, CLEF_BAD_REQUEST,
                                   "video_metadata.frames_indices holds %llu; at most %d is read",
                                   (unsigned long long)options->metadata_indices[i], INDEX_LIMIT);
        }
    }
    return CLEF_OK;
}

/* A pair stands in the middle between its frames; an odd one is a pair with itself. */
static void time_pairs(const clef_video_options *options, clef_video_plan *plan) {
    bool has_own = options->uses_all_frames && options->metadata_indices != NULL;
    double rate = rate_of(options);
    for (uint32_t pair = 0; pair < plan->grid.frames; pair++) {
        uint32_t first = 2 * pair;
        uint32_t second = first + 1 < plan->frame_count ? first + 1 : first;
        double early = has_own ? (double)options->metadata_indices[first] : plan->indices[first];
        double late = has_own ? (double)options->metadata_indices[second] : plan->indices[second];
        plan->seconds[pair] = (early / rate + late / rate) / 2;
    }
}

clef_status clef_video_plan_make(uint32_t frame_count, uint32_t width, uint32_t height,
                                 const clef_video_options *options, clef_video_plan *plan,
                                 clef_error *error) {
    uint32_t known = 0;
    if (frame_count == 0) {
        return clef_fail_media(error, CLEF_BAD_REQUEST, "a video needs at least one frame");
    }
    clef_status status = check_rates(options, error);
    if (status == CLEF_OK) {
        status = check_target(options, error);
    }
    if (status == CLEF_OK) {
        status = count_known_frames(frame_count, options, &known, error);
    }
    if (status == CLEF_OK && options->uses_all_frames) {
        status = take_all(frame_count, options, plan, error);
    } else if (status == CLEF_OK) {
        plan->frame_count = count_samples(known, options);
        spread_samples(known, plan->frame_count, plan->indices);
    }
    plan->width = width;
    plan->height = height;
    if (status == CLEF_OK) {
        status = clef_video_size_fit(plan->frame_count, &plan->width, &plan->height,
                                     options->pixels, options->caps_frame_pixels, error);
    }
    if (status == CLEF_OK) {
        plan->grid = clef_patch_grid_of(plan->frame_count, plan->width, plan->height);
        time_pairs(options, plan);
    }
    return status;
}

void clef_video_label_write(double seconds, char label[CLEF_VIDEO_LABEL_BYTES]) {
    int length = snprintf(label, CLEF_VIDEO_LABEL_BYTES, "%.1f", seconds);
    /* The decimal point belongs to the locale and may be several bytes; the digits do not. */
    int whole = 0;
    while (whole < length && label[whole] >= '0' && label[whole] <= '9') {
        whole++;
    }
    if (whole < length && length < CLEF_VIDEO_LABEL_BYTES) {
        label[whole + 1] = label[length - 1];
        label[whole] = '.';
        label[whole + 2] = '\0';
    }
}
