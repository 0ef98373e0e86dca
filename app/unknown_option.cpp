#include "app/unknown_option.h"

#include <CLI/CLI.hpp>

#include "core/base/error.h"

namespace reprise::app {
namespace {

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

std::string unknown_option_text(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  for (const std::string& word : command->remaining()) {
    if (!word.starts_with('-') || word == "-") continue;
    return fmt::format(
        "{}: {}", command->get_name(),
        unknown_name("option", word.substr(0, word.find('=')), option_names(*command)));
  }
  return "";
}

}  // namespace reprise::app
