#include "app/python.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "results/data_dir.h"
#include "results/store.h"

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

// The document as a file for the script, for as long as that runs.
class Document {
 public:
  explicit Document(const Json& document)
      : path_((std::filesystem::temp_directory_path() / "reprise-figures-XXXXXX").string()) {
    const int file = ::mkstemp(path_.data());
    if (file < 0) raise("cannot write {}: {}", path_, std::strerror(errno));
    ::close(file);
    try {
      results::write_file(path_, document.dump());
    } catch (...) {
      ::unlink(path_.c_str());
      throw;
    }
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  ~Document() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

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

void draw_figures(const Json& document, const std::filesystem::path& out) {
  namespace fs = std::filesystem;
  const fs::path script = plot_script();
  const std::optional<std::string> python = find_plot_python();
  if (!python.has_value())
    raise(
        "no python3 with matplotlib was found, so no figures can be drawn. Install the package "
        "python3-matplotlib, or set REPRISE_PYTHON to a python that has it; then: reprise plot {}",
        document["source"].get<std::string>());
  std::error_code error;
  fs::create_directories(out, error);
  if (error || ::access(out.c_str(), W_OK) != 0)
    raise("cannot write figures to {}: {}. Choose another folder with --out.", out.string(),
          error ? error.message() : std::strerror(errno));
  const Document file(document);
  const int status = run_program({*python, script.string(), file.path(), "--out", out.string()},
                                 /*is_quiet=*/false);
  if (status != 0)
    raise("the figures of {} were not drawn: {} ended with status {}, for the reason above",
          document["source"].get<std::string>(), script.string(), status);
}

}  // namespace reprise::app
