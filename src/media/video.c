/* The way of one video through the layer. */
#include "media/video.h"

#include "base/memory.h"
#include "media/media_error.h"

/* ---- frames in memory ----------------------------------------------------------------------- */

static clef_status read_listed(void *context, uint32_t index, clef_picture *picture,
                               clef_error *error) {
    clef_frame_list *list = context;
    clef_text frame = list->frames[index];
    clef_status status =
        clef_picture_decode(frame.bytes, frame.length, &list->options, picture, error);
    list->fault = status == CLEF_OK ? list->frame_count : index;
    return status;
}

clef_status clef_frame_list_open(clef_frame_list *list, clef_frame_source *source,
                                 clef_error *error) {
    *source =
        (clef_frame_source){.frame_count = list->frame_count, .read = read_listed, .context = list};
    for (uint32_t i = 0; i < list->frame_count; i++) {
        clef_picture_facts facts;
        clef_text frame = list->frames[i];
        list->fault = i;
        clef_status status =
            clef_picture_probe(frame.bytes, frame.length, &list->options, &facts, error);
        if (status != CLEF_OK) {
            return status;
        }
        if (i == 0) {
            source->width = facts.width;
            source->height = facts.height;
        }
        if (facts.width != source->width || facts.height != source->height) {
            return clef_fail_media(error, CLEF_BAD_REQUEST,
                                   "frames of one video must have equal size: this one is %ux%u, "
                                   "the first is %ux%u",
                                   facts.width, facts.height, source->width, source->height);
        }
    }
    list->fault = list->frame_count;
    return CLEF_OK;
}

/* ---- any source ----------------------------------------------------------------------------- */

static clef_status read_frame(const clef_frame_source *source, const clef_video_plan *plan,
                              uint32_t index, clef_resize_rule rule, clef_picture *frame,
                              clef_error *error) {
    clef_status status = source->read(source->context, index, frame, error);
    if (status == CLEF_OK && (frame->width != source->width || frame->height != source->height)) {
        status = clef_fail_media(error, CLEF_BAD_REQUEST, "frame %u is %ux%u, the video %ux%u",
                                 index, frame->width, frame->height, source->width, source->height);
    }
    return status == CLEF_OK ? clef_picture_resize(frame, plan->width, plan->height, rule, error)
                             : status;
}

/* All frames of the plan, and their digest. */
static clef_status read_frames(const clef_frame_source *source, clef_resize_rule rule,
                               clef_video *video, clef_error *error) {
    clef_digest_state state;
    const clef_video_plan *plan = &video->plan;
    clef_status status = CLEF_OK;
    video->frames = clef_allocate(plan->frame_count, sizeof *video->frames);
    if (video->frames == NULL) {
        return clef_fail_memory(error, plan->frame_count * sizeof *video->frames,
                                "the frames of a video");
    }
    clef_digest_begin(&state, CLEF_DIGEST_KEY);
    for (uint32_t i = 0; i < plan->frame_count && status == CLEF_OK; i++) {
        status = read_frame(source, plan, plan->indices[i], rule, &video->frames[i], error);
        if (status == CLEF_OK) {
            clef_picture_add_digest(&video->frames[i], &state);
        }
    }
    video->digest = clef_digest_finish(&state);
    return status;
}

clef_status clef_video_read(const clef_frame_source *source, const clef_video_options *options,
                            clef_resize_rule rule, clef_memory_grant *memory, clef_video *video,
                            clef_error *error) {
    clef_memory_grant none = {0};
    memory = memory != NULL ? memory : &none;
    *video = (clef_video){0};
    clef_video_plan *plan = &video->plan;
    clef_status status = clef_video_plan_make(source->frame_count, source->width, source->height,
                                              options, plan, error);
    if (status != CLEF_OK) {
        clef_video_release(video);
        return status;
    }
    uint64_t decoded = clef_picture_bytes(source->width, source->height);
    uint64_t resized = plan->frame_count * clef_picture_bytes(plan->width, plan->height);
    status = clef_memory_grant_grow(memory, decoded + resized, error);
    if (status == CLEF_OK) {
        status = read_frames(source, rule, video, error);
        clef_memory_grant_shrink(memory, decoded + (status == CLEF_OK ? 0 : resized));
    }
    if (status != CLEF_OK) {
        clef_video_release(video);
    }
    return status;
}

void clef_video_release(clef_video *video) {
    for (uint32_t i = 0; video->frames != NULL && i < video->plan.frame_count; i++) {
        clef_picture_release(&video->frames[i]);
    }
    clef_release(video->frames);
    *video = (clef_video){0};
}
