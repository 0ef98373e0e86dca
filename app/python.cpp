#include "app/python.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "core/base/error.h"
#include "results/data_dir.h"

extern char** environ;

namespace reprise::app {
namespace {

std::filesystem::path plot_script() {
  const char* folder = std::getenv("REPRISE_PLOTS_DIR");
  const std::filesystem::path script =
      (folder != nullptr ? std::filesystem::path(folder) : results::data_dir() / "plots") /
      "reprise_plot.py";
  if (!std::filesystem::exists(script))
    raise(
        "the plot script {} is not there. Set REPRISE_PLOTS_DIR to the folder plots/ of the source "
        "tree.",
        script.string());
  return script;
}

}  // namespace

int run_program(const std::vector<std::string>& command, bool is_quiet) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (is_quiet)
    for (const int file : {1, 2})
      posix_spawn_file_actions_addopen(&actions, file, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return 127;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::optional<std::string> find_plot_python() {
  std::vector<std::string> candidates;
  if (const char* wanted = std::getenv("REPRISE_PYTHON"); wanted != nullptr && *wanted != '\0')
    candidates.emplace_back(wanted);
  candidates.insert(candidates.end(), {"python3", "/usr/bin/python3"});
  for (const std::string& python : candidates)
    if (run_program({python, "-c", "import matplotlib"}, /*is_quiet=*/true) == 0) return python;
  return std::nullopt;
}

void draw_figures(const std::string& results_dir) {
  const std::filesystem::path script = plot_script();
  const std::optional<std::string> python = find_plot_python();
  if (!python.has_value())
    raise(
        "no python3 with matplotlib was found, so no figures can be drawn. Install the package "
        "python3-matplotlib, or set REPRISE_PYTHON to a python that has it; then: reprise plot {}",
        results_dir);
  const int status = run_program({*python, script.string(), results_dir}, /*is_quiet=*/false);
  if (status != 0)
    raise("{} {} {} failed with status {}; what it printed stands above", *python, script.string(),
          results_dir, status);
}

}  // namespace reprise::app
