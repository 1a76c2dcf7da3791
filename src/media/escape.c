/* The only file that jumps. The guarding function has no local variable that changes between the
 * mark and the jump, so each has a defined value afterwards. */
#include "media/escape.h"

#include <setjmp.h>
#include <stddef.h>

bool clef_escape_guard(clef_escape *escape, void (*work)(void *context), void *context) {
    jmp_buf place;
    escape->place = &place;
    if (setjmp(place) != 0) {
        escape->place = NULL;
        return false;
    }
    work(context);
    escape->place = NULL;
    return true;
}

_Noreturn void clef_escape_leave(const clef_escape *escape) {
    longjmp(*(jmp_buf *)escape->place, 1);
}
