/* The one message. */
#include "media/fetch.h"
#include "media/media_error.h"

clef_status clef_fetch_fail(clef_error *error) {
    return clef_fail_media(error, CLEF_NETWORK, "could not fetch the image");
}
