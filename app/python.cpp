#include "app/python.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "app/output.h"
#include "core/base/child_process.h"
#include "core/base/error.h"
#include "results/data_dir.h"
#include "results/store.h"

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

// What `python` prints for a line of Python. Throws Error as run_child().
std::string answer_of(const std::string& python, const std::string& line) {
  const std::atomic<bool> goes_on = false;
  return run_child({python, "-c", line}, goes_on).out;
}

bool has_matplotlib(const std::string& python) {
  try {
    (void)answer_of(python, "import matplotlib");
    return true;
  } catch (const Error&) {
    return false;
  }
}

void require_python(const std::string& python) {
  constexpr const char* kRemedy =
      "Set it to a Python that has matplotlib, such as /usr/bin/python3, or unset it";
  std::string version;
  try {
    version = answer_of(python, "import sys; print('Python', sys.version)");
  } catch (const Error& error) {
    raise("REPRISE_PYTHON is \"{}\", which is no Python: {}. {}.", python, error.what(), kRemedy);
  }
  if (!version.starts_with("Python "))
    raise(
        "REPRISE_PYTHON is \"{}\", which is no Python: asked for its version it printed \"{}\". "
        "{}.",
        python, version.substr(0, 80), kRemedy);
  if (!has_matplotlib(python))
    raise("REPRISE_PYTHON is \"{}\", a Python that cannot import matplotlib. {}.", python, kRemedy);
}

std::string wanted_python() {
  const char* wanted = std::getenv("REPRISE_PYTHON");
  return wanted == nullptr ? "" : wanted;
}

}  // namespace

void check_plot_python() {
  if (const std::string wanted = wanted_python(); !wanted.empty()) require_python(wanted);
}

std::optional<std::string> find_plot_python() {
  check_plot_python();
  if (const std::string wanted = wanted_python(); !wanted.empty()) return wanted;
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (has_matplotlib(python)) return python;
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
  const ChildEnd end =
      ChildProcess({*python, script.string(), file.path(), "--out", out.string()}, {}).wait();
  if (end.code() == 128 + SIGPIPE) throw OutputError(EPIPE);
  if (!end.is_success())
    raise("the figures of {} were not drawn: {} ended with status {}, for the reason above",
          document["source"].get<std::string>(), script.string(), end.code());
}

}  // namespace reprise::app
