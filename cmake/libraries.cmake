# Outside libraries: found through pkg-config, each named by one adapter file of the layer that uses
# it. Whatever links libclef statically needs them too, so they are listed for clef.pc.
find_package(PkgConfig REQUIRED)

# clef_use(<layer> <pkg-config module>...): the layer, and thereby the libraries, link the modules.
function(clef_use layer)
  foreach(module IN LISTS ARGN)
    pkg_check_modules(${module} REQUIRED IMPORTED_TARGET GLOBAL ${module})
    target_link_libraries(clef_${layer} PRIVATE PkgConfig::${module})
    set_property(GLOBAL APPEND PROPERTY CLEF_OUTSIDE_MODULES ${module})
  endforeach()
endfunction()

# Video files need FFmpeg, which is left out where it is not installed; say ON or OFF to decide. Only
# its headers are used here: the libraries are loaded when a video is opened (media/video_library.h).
pkg_check_modules(CLEF_FFMPEG QUIET libavformat libavcodec libswscale libavutil)
option(CLEF_VIDEO "Read video files (needs the libraries of FFmpeg)" ${CLEF_FFMPEG_FOUND})

# Pictures of other hosts need libcurl, in the same way: its header only, the library on demand.
pkg_check_modules(CLEF_CURL QUIET libcurl>=7.63)
option(CLEF_REMOTE "Fetch pictures of other hosts (needs libcurl)" ${CLEF_CURL_FOUND})

function(clef_use_remote)
  set(left_out fetch_absent.c)
  if(CLEF_REMOTE)
    if(NOT CLEF_CURL_FOUND)
      message(FATAL_ERROR "CLEF_REMOTE is ON, but pkg-config does not find libcurl")
    endif()
    target_include_directories(clef_media SYSTEM PRIVATE ${CLEF_CURL_INCLUDE_DIRS})
    target_link_libraries(clef_media PRIVATE ${CMAKE_DL_LIBS})
  else()
    set(left_out fetch_curl.c)
  endif()
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/media/${left_out} PROPERTIES HEADER_FILE_ONLY ON)
endfunction()

function(clef_use_video)
  set(left_out decode_video_absent.c)
  if(CLEF_VIDEO)
    if(NOT CLEF_FFMPEG_FOUND)
      message(FATAL_ERROR "CLEF_VIDEO is ON, but pkg-config does not find libavformat, libavcodec, "
                          "libswscale and libavutil")
    endif()
    target_include_directories(clef_media SYSTEM PRIVATE ${CLEF_FFMPEG_INCLUDE_DIRS})
    target_link_libraries(clef_media PRIVATE ${CMAKE_DL_LIBS})
  else()
    set(left_out decode_video.c video_library.c)
  endif()
  list(TRANSFORM left_out PREPEND ${PROJECT_SOURCE_DIR}/src/media/)
  set_source_files_properties(${left_out} PROPERTIES HEADER_FILE_ONLY ON)
endfunction()
