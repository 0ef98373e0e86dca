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
#include "core/base/python.h"
#include "core/base/temporary_file.h"
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

const PythonLibrary& matplotlib() {
  static const PythonLibrary library{.name = "matplotlib", .package = "python3-matplotlib"};
  return library;
}

// `command` is what draws the figures once there is one.
std::string wanted_plot_python(const std::string& command, const Json& document) {
  if (std::optional<std::string> python = find_plot_python()) return *python;
  raise(
      "no python3 with matplotlib was found, so no figures can be drawn. Install the package "
      "python3-matplotlib, or set REPRISE_PYTHON to a python that has it; then: {} {}",
      command, document["source"].get<std::string>());
}

}  // namespace

void check_plot_python() { check_named_python(matplotlib()); }

std::optional<std::string> find_plot_python() { return find_python(matplotlib()); }

void draw_figures(const Json& document, const std::filesystem::path& out) {
  namespace fs = std::filesystem;
  const fs::path script = plot_script();
  const std::string python = wanted_plot_python("reprise plot", document);
  std::error_code error;
  fs::create_directories(out, error);
  if (error || ::access(out.c_str(), W_OK) != 0)
    raise("cannot write figures to {}: {}. Choose another folder with --out.", out.string(),
          error ? error.message() : std::strerror(errno));
  const TemporaryFile file("reprise-figures", document.dump());
  const ChildEnd end =
      ChildProcess({python, script.string(), file.path(), "--out", out.string()}, {}).wait();
  if (end.code() == 128 + SIGPIPE) throw OutputError(EPIPE);
  if (!end.is_success())
    raise("the figures of {} were not drawn: {} ended with status {}, for the reason above",
          document["source"].get<std::string>(), script.string(), end.code());
}

std::vector<PageFigure> draw_page_figures(const Json& document) {
  const std::filesystem::path script = plot_script();
  const std::string python = wanted_plot_python("reprise report", document);
  const TemporaryFile file("reprise-figures", document.dump());
  const std::atomic<bool> stop = false;
  const ChildResult drawn = run_child({python, script.string(), file.path(), "--page"}, stop);
  const Json answer = parse_json(drawn.out, script.string());
  std::vector<PageFigure> figures;
  for (const Json& figure : answer["figures"])
    figures.push_back({.name = figure.value("name", ""),
                       .title = figure.value("title", ""),
                       .caption = figure.value("caption", ""),
                       .svg = figure.value("svg", ""),
                       .png_base64 = figure.value("png", ""),
                       .problem = figure.value("problem", ""),
                       .width_px = figure.value("width_px", int64_t{0})});
  return figures;
}

}  // namespace reprise::app
