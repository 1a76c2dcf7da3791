# A layer is a folder of src/ built as one static library that links only the layers it may use, so
# an arrow against the direction does not link. The library and the program are made of layers.

function(clef_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.c)
  add_library(clef_${name} STATIC ${sources})
  target_include_directories(clef_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src
                                                 ${PROJECT_SOURCE_DIR}/include)
  foreach(used IN LISTS ARGN)
    target_link_libraries(clef_${name} PUBLIC clef_${used})
  endforeach()
  clef_level_sources(clef_${name} "${sources}")
endfunction()

function(clef_library)
  get_property(modules GLOBAL PROPERTY CLEF_OUTSIDE_MODULES)
  list(TRANSFORM modules PREPEND PkgConfig::)
  foreach(layer IN LISTS ARGN)
    list(APPEND objects $<TARGET_OBJECTS:clef_${layer}>)
  endforeach()
  foreach(kind IN ITEMS shared static)
    string(TOUPPER ${kind} type)
    add_library(clef_${kind} ${type} ${objects})
    target_include_directories(clef_${kind} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    target_link_libraries(clef_${kind} PRIVATE ${modules} Threads::Threads m ${CMAKE_DL_LIBS})
    set_target_properties(clef_${kind} PROPERTIES OUTPUT_NAME clef LINKER_LANGUAGE C)
  endforeach()
  set_target_properties(clef_shared PROPERTIES VERSION ${PROJECT_VERSION}
                                               SOVERSION ${PROJECT_VERSION_MAJOR})
endfunction()

function(clef_program)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.c)
  add_executable(clef_program ${sources})
  set_target_properties(clef_program PROPERTIES OUTPUT_NAME clef
                                                RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_include_directories(clef_program PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(clef_program PRIVATE clef_server clef_static)
  target_compile_definitions(clef_program PRIVATE
    CLEF_INSTALLED_MODEL="${CMAKE_INSTALL_FULL_DATADIR}/clef/models/clef-tiny")
endfunction()
