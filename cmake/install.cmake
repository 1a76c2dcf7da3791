# make install: program, libraries, headers, pkg-config file, the default model, and, where they are,
# manual page and completions. Everything is found relative to the prefix, so a tree can be moved.
install(TARGETS clef_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS clef_shared clef_static
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/clef DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY models/clef-tiny DESTINATION ${CMAKE_INSTALL_DATADIR}/clef/models)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

file(RELATIVE_PATH CLEF_PREFIX_FROM_PKGCONFIG /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" CLEF_PREFIX_FROM_PKGCONFIG "${CLEF_PREFIX_FROM_PKGCONFIG}")
get_property(CLEF_REQUIRES_PRIVATE GLOBAL PROPERTY CLEF_OUTSIDE_MODULES)
list(JOIN CLEF_REQUIRES_PRIVATE ", " CLEF_REQUIRES_PRIVATE)
if(CMAKE_DL_LIBS)
  set(CLEF_LOADER_FLAG -l${CMAKE_DL_LIBS})
endif()
configure_file(cmake/clef.pc.in ${PROJECT_BINARY_DIR}/clef.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/clef.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# clef_install_page(<file in share/> <folder> <name there>)
function(clef_install_page source folder name)
  if(EXISTS ${PROJECT_SOURCE_DIR}/share/${source})
    install(FILES share/${source} DESTINATION ${folder} RENAME ${name})
  endif()
endfunction()
clef_install_page(man/clef.1 ${CMAKE_INSTALL_MANDIR}/man1 clef.1)
clef_install_page(completion/clef.bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions clef)
clef_install_page(completion/clef.zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions _clef)
clef_install_page(completion/clef.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d clef.fish)
