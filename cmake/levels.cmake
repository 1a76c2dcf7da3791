# The one table from a file's level suffix to its compiler flags: kernels/<op>/<op>_<level>.c.
# A file without a suffix of this table is built for the lowest CPU.
set(CLEF_LEVEL_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(CLEF_LEVEL_FLAGS_avx512 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(CLEF_LEVEL_FLAGS_avx512vnni ${CLEF_LEVEL_FLAGS_avx512} -mavx512vnni)
set(CLEF_LEVEL_FLAGS_avx512bf16 ${CLEF_LEVEL_FLAGS_avx512vnni} -mavx512bf16)

string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
if(processor MATCHES "^(x86_64|amd64)$")
  set(CLEF_LEVELS avx2 avx512 avx512vnni avx512bf16)
else()
  set(CLEF_LEVELS "")
endif()

# Gives every source of a level its flags, and leaves out those this machine type cannot build.
function(clef_level_sources target sources)
  foreach(source IN LISTS sources)
    foreach(level IN ITEMS avx2 avx512 avx512vnni avx512bf16)
      if(source MATCHES "_${level}\\.c$")
        if(level IN_LIST CLEF_LEVELS)
          set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
                                                           "${CLEF_LEVEL_FLAGS_${level}}")
        else()
          set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
        endif()
      elseif(source MATCHES "_reference\\.c$")
        # Plain loops; the compiler may still use the baseline's vectors for them.
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O3")
      endif()
    endforeach()
  endforeach()
endfunction()
