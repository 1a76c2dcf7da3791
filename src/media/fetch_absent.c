/* Stands in for fetch_curl.c where libcurl was not found. */
#include "media/fetch.h"
#include "media/media_error.h"

bool clef_fetch_is_built(void) {
    return false;
}

clef_status clef_fetch(clef_text url, const clef_fetch_rules *rules, size_t byte_limit,
                       const clef_stop *stop, clef_buffer *bytes, clef_error *error) {
    (void)url;
    (void)rules;
    (void)byte_limit;
    (void)stop;
    (void)bytes;
    return clef_fail_media(error, CLEF_BAD_REQUEST,
                           "this build fetches no images: it was made with CLEF_REMOTE=OFF, which "
                           "is the default where libcurl is not found");
}
