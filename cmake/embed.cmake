# clef_embed(<target> <file> <symbol> <header>): compiles the bytes of a file into a target, as
# clef_<symbol>_bytes and clef_<symbol>_length, which <header> declares. Made anew when the file changes.
function(clef_embed target file symbol header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} digits HEX)
  string(LENGTH "${digits}" length)
  math(EXPR length "${length} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" lines "${digits}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," lines "${lines}")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.c)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT "#include \"${header}\"

const unsigned char clef_${symbol}_bytes[] = {
${lines}
};
const size_t clef_${symbol}_length = ${length};
")
  target_sources(${target} PRIVATE ${source})
endfunction()
