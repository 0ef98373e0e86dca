# Defines the target PkgConfig::SENTENCEPIECE. Ubuntu 24.04's sentencepiece.pc requires
# protobuf-lite, which the library links itself and its package does not install; there the library
# is found by its files.
pkg_check_modules(SENTENCEPIECE QUIET IMPORTED_TARGET sentencepiece)  # libsentencepiece-dev
if(NOT TARGET PkgConfig::SENTENCEPIECE)
  find_path(SENTENCEPIECE_INCLUDE_FOLDER sentencepiece_processor.h REQUIRED)
  find_library(SENTENCEPIECE_FILE sentencepiece REQUIRED)
  find_library(SENTENCEPIECE_TRAIN_FILE sentencepiece_train REQUIRED)  # needed by tests
  add_library(PkgConfig::SENTENCEPIECE INTERFACE IMPORTED)
  target_include_directories(PkgConfig::SENTENCEPIECE INTERFACE ${SENTENCEPIECE_INCLUDE_FOLDER})
  target_link_libraries(PkgConfig::SENTENCEPIECE INTERFACE ${SENTENCEPIECE_TRAIN_FILE} ${SENTENCEPIECE_FILE})
endif()
