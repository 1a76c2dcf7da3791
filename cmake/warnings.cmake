# Strict warnings for both compilers, and the sanitizer build.
function(clef_set_warnings)
  add_compile_options(
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wmissing-prototypes -Wstrict-prototypes
    -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wno-sign-conversion
    # One order of additions everywhere: the compiler must not fuse a·b+c on its own.
    -ffp-contract=off)
  if(CLEF_WERROR)
    add_compile_options(-Werror)
  endif()
  if(CLEF_SANITIZE)
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
  endif()
  if(CLEF_SANITIZE_THREAD)
    add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
    add_link_options(-fsanitize=thread)
  endif()
endfunction()
