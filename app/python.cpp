#include "app/python.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "app/output.h"
#include "core/base/child_process.h"
#include "core/base/error.h"
#include "core/base/fields.h"
#include "core/base/json.h"
#include "core/base/python.h"
#include "core/base/temporary_file.h"
#include "results/data_dir.h"

namespace reprise::app {
namespace {

std::filesystem::path script_of_plots(const std::string& name) {
  const char* folder = std::getenv("REPRISE_PLOTS_DIR");
  const std::filesystem::path script =
      (folder != nullptr ? std::filesystem::path(folder) : results::data_dir() / "plots") / name;
  if (!std::filesystem::exists(script))
    raise(
        "the plot script {} is not there. Set REPRISE_PLOTS_DIR to the folder plots/ of the source "
        "tree.",
        script.string());
  return script;
}

std::filesystem::path plot_script() { return script_of_plots("reprise_plot.py"); }
std::filesystem::path page_script() { return script_of_plots("reprise_report.py"); }

const PythonLibrary& matplotlib() {
  static const PythonLibrary library{.name = "matplotlib", .package = "python3-matplotlib"};
  return library;
}

// `command` is the command that the message recommends to run after the installation.
std::string wanted_plot_python(const std::string& command, const Fields& document) {
  if (std::optional<std::string> python = find_plot_python()) return *python;
  raise(
      "no python3 with matplotlib was found, so no figures can be drawn. Install the package "
      "python3-matplotlib, or set REPRISE_PYTHON to a python that has it; then: {} {}",
      command, text_of(document, "source"));
}

// Runs the script on the document and returns the JSON that it prints.
Fields answer_of(const std::string& python, const std::filesystem::path& script,
                 const Fields& document, const std::vector<std::string>& options) {
  const TemporaryFile file("reprise-document", json_text(document));
  std::vector<std::string> command = {python, script.string(), file.path()};
  command.insert(command.end(), options.begin(), options.end());
  const std::atomic<bool> stop = false;
  const Value answer = parse_json(run_child(command, stop).out, script.string());
  if (!answer.is_fields()) raise("{} printed no JSON object", script.string());
  return answer.fields();
}

}  // namespace

void check_plot_python() { check_named_python(matplotlib()); }

std::optional<std::string> find_plot_python() { return find_python(matplotlib()); }

void draw_figures(const Fields& document, const std::filesystem::path& out) {
  namespace fs = std::filesystem;
  const fs::path script = plot_script();
  const std::string python = wanted_plot_python("reprise plot", document);
  std::error_code error;
  fs::create_directories(out, error);
  if (error || ::access(out.c_str(), W_OK) != 0)
    raise("cannot write figures to {}: {}. Choose another folder with --out.", out.string(),
          error ? error.message() : std::strerror(errno));
  const TemporaryFile file("reprise-figures", json_text(document));
  const ChildEnd end =
      ChildProcess({python, script.string(), file.path(), "--out", out.string()}, {}).wait();
  if (end.code() == 128 + SIGPIPE) throw OutputError(EPIPE);
  if (!end.is_success())
    raise("not all figures of {} were drawn: {} ended with status {}, for the reason above",
          text_of(document, "source"), script.string(), end.code());
}

Value draw_page_figures(const Fields& report) {
  const std::filesystem::path script = plot_script();
  const std::string python = wanted_plot_python("reprise report", report);
  return field_of(answer_of(python, script, report, {"--page"}), "figures");
}

std::string page_python(const std::string& sources) {
  static const PythonLibrary jinja{.name = "jinja2", .package = "python3-jinja2"};
  (void)page_script();
  if (std::optional<std::string> python = find_python(jinja)) return *python;
  raise(
      "no python3 with jinja2 was found, so no page can be written. Install the package "
      "python3-jinja2, or set REPRISE_PYTHON to a python that has it; then: reprise report {}",
      sources);
}

Page render_page(const std::string& python, const Fields& document) {
  const Fields answer = answer_of(python, page_script(), document, {});
  Page page{.html = text_of(answer, "page"), .undrawn = {}};
  try {
    FieldReader::read(field_of(answer, "undrawn"), "undrawn", page.undrawn);
  } catch (const FieldFault& fault) {
    raise("{} printed no page: {}", page_script().string(), fault.text);
  }
  return page;
}

}  // namespace reprise::app
