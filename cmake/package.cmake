# `make deb`: a Debian package of the component program of install.cmake, without the modules that use libtorch. It fits the
# system that built it and later ones with the same libraries.
set(REPRISE_PACKAGE_CONTACT "The Reprise authors <reprise@example.org>" CACHE STRING
    "Name <address> of who makes packages for others")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME reprise)
set(CPACK_PACKAGE_CONTACT "${REPRISE_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compares methods that reuse attention state in LLM inference")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Prompt Cache, ChunkAttention, RelayAttention, AttnCache and their rivals
in one runtime, with the same kernels, clock and workload. Comes with the
papers' experiments and numbers, and with small models.")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Figures and pages need Matplotlib and Jinja. Matplotlib's fonttools needs python3-munkres or SciPy; with SciPy come compilers
# and OpenBLAS, whose threads disturb measurements.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3-munkres, python3-matplotlib, python3-jinja2, python3")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-jieba, python3-pandas")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/prerm)

# Debian's form of THIRD_PARTY.md and CHANGELOG.md.
file(READ ${CMAKE_SOURCE_DIR}/THIRD_PARTY.md REPRISE_LICENCES)
string(REGEX REPLACE "\n$" "" REPRISE_LICENCES "${REPRISE_LICENCES}")
string(REPLACE "\n" "\n " REPRISE_LICENCES " ${REPRISE_LICENCES}")
string(REPLACE "\n \n" "\n .\n" REPRISE_LICENCES "${REPRISE_LICENCES}")
string(TIMESTAMP REPRISE_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(debian ${CMAKE_BINARY_DIR}/debian)
foreach(file copyright changelog)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/${file}.in ${debian}/${file} @ONLY)
endforeach()
install(FILES ${debian}/copyright DESTINATION share/doc/reprise COMPONENT program)
find_program(GZIP_PROGRAM gzip)
if(GZIP_PROGRAM)
  execute_process(COMMAND ${GZIP_PROGRAM} -9nf ${debian}/changelog)
  install(FILES ${debian}/changelog.gz DESTINATION share/doc/reprise COMPONENT program)
endif()

include(CPack)
