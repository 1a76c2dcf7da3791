# Outside libraries: found through pkg-config, each named by one adapter file of the layer that uses
# it. Whatever links libclef statically needs them too, so they are listed for clef.pc.
find_package(PkgConfig REQUIRED)

# Video files need FFmpeg, which is left out where it is not installed. Say ON or OFF to decide.
set(CLEF_VIDEO_MODULES libavformat libavcodec libswscale libavutil)
pkg_check_modules(CLEF_FFMPEG QUIET ${CLEF_VIDEO_MODULES})
option(CLEF_VIDEO "Read video files (needs the libraries of FFmpeg)" ${CLEF_FFMPEG_FOUND})
if(CLEF_VIDEO AND NOT CLEF_FFMPEG_FOUND)
  message(FATAL_ERROR "CLEF_VIDEO is ON but pkg-config does not find ${CLEF_VIDEO_MODULES}")
endif()

# clef_use(<layer> <pkg-config module>...): the layer, and thereby the libraries, link the modules.
function(clef_use layer)
  foreach(module IN LISTS ARGN)
    pkg_check_modules(${module} REQUIRED IMPORTED_TARGET GLOBAL ${module})
    target_link_libraries(clef_${layer} PRIVATE PkgConfig::${module})
    set_property(GLOBAL APPEND PROPERTY CLEF_OUTSIDE_MODULES ${module})
  endforeach()
endfunction()
