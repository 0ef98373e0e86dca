# Defines for find_package(reprise) the targets reprise::methods, reprise::prompt_cache,
# reprise::engine, reprise::sentence, reprise::tokenizer, and the libraries that these link.
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(nlohmann_json)
# Needed only if reprise was built with FAISS; its targets then link both.
find_package(faiss QUIET)
find_package(OpenMP QUIET COMPONENTS CXX)
find_dependency(Threads)
find_dependency(PkgConfig)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
include(${CMAKE_CURRENT_LIST_DIR}/sentencepiece.cmake)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(PUGIXML REQUIRED IMPORTED_TARGET pugixml)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
include(${CMAKE_CURRENT_LIST_DIR}/reprise-targets.cmake)
