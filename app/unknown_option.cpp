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

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* below : command.get_subcommands({})) names.push_back(below->get_name());
  return names;
}

// The command that was given; of nested commands the innermost one.
const CLI::App& given_command(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : given_command(*parsed.front());
}

}  // namespace

std::string unknown_option_text(const CLI::App& app) {
  const CLI::App& command = given_command(app);
  const std::vector<std::string> commands = command_names(command);
  for (const std::string& word : command.remaining()) {
    if (!word.starts_with('-') && !commands.empty())
      return fmt::format("{}: {}", command.get_name(), unknown_name("command", word, commands));
    if (!word.starts_with('-') || word == "-") continue;
    return fmt::format(
        "{}: {}", command.get_name(),
        unknown_name("option", word.substr(0, word.find('=')), option_names(command)));
  }
  return "";
}

}  // namespace reprise::app
