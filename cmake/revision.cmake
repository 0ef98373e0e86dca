# Writes the git revision to OUTPUT, only if it has changed, so that a build without a new commit
# compiles nothing. Run as: cmake -DSOURCE_DIR=... -DOUTPUT=... [-DREVISION=...] -P revision.cmake.
# REVISION is taken instead of git's, followed by + if files differ from it. A repository that only
# encloses the tree says nothing about it.
set(revision "unknown")
set(dirty 0)
set(changes_hash "")  # tells two modified trees of one revision apart
find_program(GIT_PROGRAM git)
if(REVISION)
  string(REGEX MATCH "^[0-9a-f]+" revision "${REVISION}")
  if(REVISION MATCHES "[+]$")
    set(dirty 1)
    set(changes_hash "packed")
  endif()
elseif(GIT_PROGRAM)
  execute_process(COMMAND ${GIT_PROGRAM} rev-parse --show-prefix WORKING_DIRECTORY ${SOURCE_DIR}
                  OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT_PROGRAM} rev-parse HEAD WORKING_DIRECTORY ${SOURCE_DIR}
                  OUTPUT_VARIABLE found RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed AND "${prefix}" STREQUAL "")
    set(revision "${found}")
    execute_process(COMMAND ${GIT_PROGRAM} status --porcelain --untracked-files=no
                    WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(dirty 1)
      execute_process(COMMAND ${GIT_PROGRAM} diff HEAD --binary WORKING_DIRECTORY ${SOURCE_DIR}
                      OUTPUT_VARIABLE difference ERROR_QUIET)
      string(SHA256 changes_hash "${difference}")
      string(SUBSTRING "${changes_hash}" 0 12 changes_hash)
    endif()
  endif()
endif()
set(text "#pragma once\n#define REPRISE_REVISION \"${revision}\"\n#define REPRISE_REVISION_DIRTY ${dirty}
#define REPRISE_REVISION_CHANGES \"${changes_hash}\"\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
