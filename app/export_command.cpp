// `reprise export`: writes results as rows that can be understood alone, or in a format of other
// programs. CSV and JSON are written here, other formats by python/reprise_export.py.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/exit_status.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/record_table.h"
#include "app/results_source.h"
#include "core/base/atomic_file.h"
#include "core/base/child_process.h"
#include "core/base/error.h"
#include "core/base/python.h"
#include "results/data_dir.h"

namespace reprise::app {
namespace {

struct ExportCommand {
  std::string results, out;
  TableOptions table = {.format = "csv"};
};

// Throws Error for a word that is not a format. The error gives the nearest format.
void check_export_format(const std::string& format) {
  const std::vector<std::string> formats = {
      "csv", "json", "parquet", "bmf", "llm-d", "google-benchmark", "vllm"};
  if (std::find(formats.begin(), formats.end(), format) == formats.end())
    raise("--format: {}", unknown_name("format", format, formats));
}

// Returns a Python that has the library that the format needs. If there is none, throws Error with
// the library and the remedy.
std::string export_python(const std::string& format) {
  static const PythonLibrary arrow{.name = "pyarrow", .package = "pyarrow of PyPI"};
  static const PythonLibrary json{.name = "json", .package = "python3"};
  const bool is_parquet = format == "parquet";
  if (std::optional<std::string> python = find_python(is_parquet ? arrow : json)) return *python;
  raise("no python3{} was found, which writes --format {}. Install {}, or set REPRISE_PYTHON to {}",
        is_parquet ? " with pyarrow" : "", format,
        is_parquet ? "it (python3 -m pip install pyarrow)" : "the package python3",
        is_parquet ? "a python that has it" : "a python");
}

// Runs the script with this program's own streams. It writes to `out`, or to standard output.
void export_by_script(const ExportCommand& command) {
  const std::string& format = command.table.format;
  // Refuses damaged and contradictory records.
  (void)read_results(command.results, /*draws=*/false);
  std::vector<std::string> arguments = {
      export_python(format), (results::data_dir() / "python" / "reprise_export.py").string(),
      "--format=" + format};
  if (!command.table.metrics.empty()) arguments.push_back("--metrics=" + command.table.metrics);
  if (!command.out.empty()) arguments.push_back("--out=" + command.out);
  arguments.emplace_back("--");
  arguments.push_back(command.results);
  flush_output();
  const ChildEnd end = ChildProcess(arguments, {}).wait();
  if (end.code() == 128 + SIGPIPE) throw OutputError(EPIPE);
  if (!end.is_success()) throw ExitStatus{end.code()};
}

void export_rows(const ExportCommand& command) {
  const std::string rows =
      exported_rows(read_results(command.results, /*draws=*/false), command.table);
  if (command.out.empty()) {
    write_output(rows);
    flush_output();
    return;
  }
  AtomicFile file(command.out, AtomicFile::Links::kFollow);
  file.write(rows);
  file.commit();
}

void export_results(const ExportCommand& command) {
  const std::string& format = command.table.format;
  check_export_format(format);
  if (format == "csv" || format == "json")
    export_rows(command);
  else
    export_by_script(command);
}

}  // namespace

void add_export_command(CLI::App& app) {
  auto options = std::make_shared<ExportCommand>();
  CLI::App* command = app.add_subcommand(
      "export",
      "Write results as rows that stand alone, each with all its settings, or in a format of other "
      "programs; draw nothing");
  add_results_argument(*command, options->results);
  command->add_option("--format", options->table.format,
                      "csv, json or parquet: a row for each point; bmf, google-benchmark: for "
                      "programs that track benchmarks; vllm, llm-d: of requests to a server "
                      "(default: csv)");
  command
      ->add_option("--metrics", options->table.metrics,
                   "metrics to write, as a,b (default: all); not for vllm and llm-d")
      ->check(not_empty());
  command
      ->add_option("--out", options->out,
                   "file to write; of llm-d a folder, which gets a file for each point (default: "
                   "standard output)")
      ->check(not_empty());
  command->callback([options] { export_results(*options); });
}

}  // namespace reprise::app
