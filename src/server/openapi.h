/* The bytes of src/server/openapi.json; cmake/embed.cmake makes their C file when building. */
#ifndef CLEF_SERVER_OPENAPI_H
#define CLEF_SERVER_OPENAPI_H

#include <stddef.h>

extern const unsigned char clef_openapi_bytes[];
extern const size_t clef_openapi_length;

#endif
