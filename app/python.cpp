#include "app/python.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "app/output.h"
#include "core/base/child_process.h"
#include "core/base/error.h"
#include "results/data_dir.h"

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

void draw_figures(const std::string& results_dir) {
  const std::filesystem::path script = plot_script();
  const std::optional<std::string> python = find_plot_python();
  if (!python.has_value())
    raise(
        "no python3 with matplotlib was found, so no figures can be drawn. Install the package "
        "python3-matplotlib, or set REPRISE_PYTHON to a python that has it; then: reprise plot {}",
        results_dir);
  const ChildEnd end = ChildProcess({*python, script.string(), results_dir}, {}).wait();
  if (end.code() == 128 + SIGPIPE) throw OutputError(EPIPE);
  if (!end.is_success())
    raise("{} {} {} failed with status {}; what it printed stands above", *python, script.string(),
          results_dir, end.code());
}

}  // namespace reprise::app
