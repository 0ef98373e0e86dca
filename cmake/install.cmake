# Installs the program with its data, and the runtime's libraries for find_package(reprise). Components: program (with its
# data: what a package holds), torch (the modules that use libtorch), development (libraries and headers).
include(GNUInstallDirs)

# Appends to `found` the libraries of this tree that `target` is made of, including itself.
function(reprise_libraries_below target found)
  list(APPEND ${found} ${target})
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  foreach(link IN LISTS links)
    if(link MATCHES "^reprise_" AND NOT link IN_LIST ${found})
      reprise_libraries_below(${link} ${found})
    endif()
  endforeach()
  set(${found} ${${found}} PARENT_SCOPE)
endfunction()

set(libraries "")
foreach(library reprise_methods reprise_prompt_cache reprise_engine reprise_sentence reprise_tokenizer)
  reprise_libraries_below(${library} libraries)
endforeach()
list(REMOVE_DUPLICATES libraries)
foreach(library IN LISTS libraries)
  string(REGEX REPLACE "^reprise_" "" short_name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${short_name})
endforeach()

install(TARGETS reprise RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
foreach(module reprise_torch reprise_attn_cache_train)
  if(TARGET ${module})
    # In the place that core/base/torch_module.h names. As a file, so that it keeps its path to libtorch.
    install(PROGRAMS $<TARGET_FILE:${module}> DESTINATION lib/reprise COMPONENT torch)
  endif()
endforeach()
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(TARGETS ${libraries} EXPORT reprise ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/reprise)
install(DIRECTORY core methods DESTINATION include/reprise
        FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE)

# Keeps the tree's layout, because results/data_dir.h finds the folders from the program's location.
install(DIRECTORY data docs experiments models plots python DESTINATION share/reprise COMPONENT program
        FILES_MATCHING PATTERN "*.json" PATTERN "items.jsonl" PATTERN "2wikimqa.jsonl" PATTERN "musique.jsonl" PATTERN "*.safetensors" PATTERN "*.model" PATTERN "*.txt" PATTERN "*.tsv" PATTERN "*.csv"
        PATTERN "*.py" PATTERN "*.sql" PATTERN "*.md" PATTERN "templates/*" PATTERN "*.xml" PATTERN "CMakeLists.txt" EXCLUDE PATTERN "__pycache__" EXCLUDE
        PATTERN "experiments/framework" EXCLUDE PATTERN "experiments/kinds" EXCLUDE)
install(DIRECTORY results/papers DESTINATION share/reprise/results COMPONENT program)
install(FILES LICENSE THIRD_PARTY.md CITATION.cff CHANGELOG.md DESTINATION share/doc/reprise COMPONENT program)

include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/reprise)
install(EXPORT reprise NAMESPACE reprise:: FILE reprise-targets.cmake DESTINATION ${package})
install(FILES ${CMAKE_CURRENT_LIST_DIR}/reprise-config.cmake ${CMAKE_CURRENT_LIST_DIR}/sentencepiece.cmake DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/reprise-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/reprise-config-version.cmake DESTINATION ${package})
