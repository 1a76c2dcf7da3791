/* A way out of libraries that cannot return an error.
 *
 * libjpeg and libpng call a function of ours when they give up, and that function must not return.
 * It leaves by an escape instead, which ends the guarded call. Only escape.c names the C library's
 * jump; whoever uses it keeps what must survive in a struct behind `context`, never in a local
 * variable of the guarded function. */
#ifndef CLEF_MEDIA_ESCAPE_H
#define CLEF_MEDIA_ESCAPE_H

#include <stdbool.h>

/* Where to leave to; set while a guarded call runs. Zero-initialised before. */
typedef struct clef_escape {
    void *place;
} clef_escape;

/* Runs work(context): true when it returned, false when it left through the escape. */
bool clef_escape_guard(clef_escape *escape, void (*work)(void *context), void *context);

/* Ends the guarded call. Called from inside it only; nothing between the two may own memory that no
 * struct outside knows. */
_Noreturn void clef_escape_leave(const clef_escape *escape);

#endif
