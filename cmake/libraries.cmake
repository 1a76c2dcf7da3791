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
