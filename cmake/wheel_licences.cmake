# Copies what Debian says of the licences of `reprise_program`'s libraries to share/licences/PACKAGE. The exceptions are those that
# every system has, which auditwheel does not add.
cmake_minimum_required(VERSION 3.22)
find_program(dpkg_query dpkg-query)
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${reprise_program} RESOLVED_DEPENDENCIES_VAR libraries
     PRE_EXCLUDE_REGEXES "^(ld-linux.*|libc|libm|libz|libgcc_s|libstdc\\+\\+)\\.so")
foreach(library IN LISTS libraries)
  get_filename_component(name ${library} NAME)
  set(package "")
  if(dpkg_query)
    execute_process(COMMAND ${dpkg_query} --search "*/${name}" OUTPUT_VARIABLE package ERROR_QUIET)
    string(REGEX REPLACE ":.*" "" package "${package}")
  endif()
  if(package AND EXISTS /usr/share/doc/${package}/copyright)
    file(INSTALL /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_PREFIX}/share/licences/${package})
  else()
    message(WARNING "no licence of ${library} was found; add it before you give the wheel to others")
  endif()
endforeach()
