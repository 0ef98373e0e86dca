// `reprise data`: lists, fetches and checks data sets and checkpoints, by data/reprise_data.py.
#include <CLI/CLI.hpp>

#include "app/commands.h"
#include "app/number_option.h"
#include "app/output.h"
#include "core/base/child_process.h"
#include "core/base/error.h"
#include "core/base/python.h"
#include "results/data_dir.h"

namespace reprise::app {
namespace {

struct DataCommand {
  std::vector<std::string> names;
  std::string scale;
  bool is_json = false, is_again = false;
};

std::string data_python() {
  static const PythonLibrary ssl{.name = "ssl", .package = "python3"};
  if (std::optional<std::string> python = find_python(ssl)) return *python;
  raise(
      "no python3 was found, which fetches data. Install the package python3, or set "
      "REPRISE_PYTHON "
      "to a python");
}

// Replaces this program by the script. If the script were a child process, a signal sent to
// `reprise` would end only `reprise`, and the script would go on fetching.
[[noreturn]] void become_script(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {data_python(),
                                      (results::data_dir() / "data" / "reprise_data.py").string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  flush_output();
  become(command);
}

void get(const DataCommand& command) {
  std::vector<std::string> arguments = {"get"};
  if (command.is_again) arguments.emplace_back("--again");
  if (!command.scale.empty()) arguments.push_back("--scale=" + command.scale);
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), command.names.begin(), command.names.end());
  become_script(arguments);
}

void check(const DataCommand& command) {
  std::vector<std::string> arguments = {"check", "--"};
  arguments.insert(arguments.end(), command.names.begin(), command.names.end());
  become_script(arguments);
}

}  // namespace

void add_data_command(CLI::App& app) {
  auto options = std::make_shared<DataCommand>();
  CLI::App* command = app.add_subcommand(
      "data", "List, fetch and check the data sets and checkpoints that experiments name");
  command->require_subcommand(1);

  CLI::App* list = command->add_subcommand(
      "list", "Show all of them: size, licence, source, whether they are here, what needs them");
  list->add_flag("--json", options->is_json, "print JSON");
  list->callback([options] {
    become_script(options->is_json ? std::vector<std::string>{"list", "--json"}
                                   : std::vector<std::string>{"list"});
  });

  CLI::App* get_command = command->add_subcommand(
      "get",
      "Fetch into the folder that REPRISE_DATA names, else into the cache folder. HF_TOKEN and "
      "HF_ENDPOINT are honoured. A fetch that was stopped goes on with the same command.");
  get_command
      ->add_option("names", options->names,
                   "names of data sets and checkpoints, of experiments (serving/traces) or of "
                   "folders of them (serving), which stand for all that they need")
      ->required()
      ->check(not_empty());
  get_command
      ->add_option("--scale", options->scale,
                   "only what experiments need at this scale (default: at every scale)")
      ->check(CLI::IsMember({"smoke", "desk", "paper"}));
  get_command->add_flag("--again", options->is_again,
                        "check what is here, and fetch the files that were altered");
  get_command->callback([options] { get(*options); });

  CLI::App* check_command = command->add_subcommand(
      "check", "Compare what was fetched with its checksums; exit status 1 if something differs");
  check_command->add_option("names", options->names, "as for get (default: all that is here)")
      ->check(not_empty());
  check_command->callback([options] { check(*options); });
}

}  // namespace reprise::app
