# `make wheel`: installs the program and its data from the build in REPRISE_BUILT, which was compiled before, and the licences
# of the libraries that auditwheel adds. Without REPRISE_BUILT, `pip install .` compiles the program.
get_filename_component(built "${REPRISE_BUILT}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
set(program ${built}/bin/reprise)
if(NOT EXISTS ${program})
  message(FATAL_ERROR "REPRISE_BUILT=${REPRISE_BUILT} has no bin/reprise. Build it first, or leave REPRISE_BUILT out.")
endif()
add_custom_target(reprise)
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" --install \"${built}\" --component program --strip
                                      --prefix \"\${CMAKE_INSTALL_PREFIX}\"
                              COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)" COMPONENT program)
install(CODE "set(reprise_program \"${program}\")" COMPONENT program)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/wheel_licences.cmake COMPONENT program)
