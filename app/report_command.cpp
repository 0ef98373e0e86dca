// `reprise report`: one HTML page of one folder of results, or of several.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/exit_status.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/report/page.h"
#include "app/results_source.h"
#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "experiments/kinds/registry.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

struct ReportCommand {
  std::vector<std::string> results;
  std::string out;
  double margin_percent = 100 * checks::kRecordedMargin;
};

// What this program knows of the metrics of a kind.
MetricHelp help_of_kind(const std::string& name) {
  MetricHelp help;
  for (const experiments::KindInfo& kind : experiments::known_kinds())
    if (kind.name == name)
      for (const experiments::MetricInfo& metric : kind.metrics) help[metric.name] = metric.help;
  return help;
}

// Throws Error where the page cannot be written, before anything is drawn, which takes seconds.
// What is no regular file (a pipe) is not tried: opening it would be seen.
void require_writable(const fs::path& out) {
  std::error_code error;
  if (fs::is_directory(out, error))
    raise("{} is a folder; name a file with --out, such as {}", out.string(),
          (out / "report.html").string());
  if (fs::exists(out, error) && !fs::is_regular_file(out, error)) return;
  try {
    const AtomicFile trial(out);
  } catch (const Error& problem) {
    raise("{}. Name a file that you may write with --out FILE.", problem.what());
  }
}

void make_report(const ReportCommand& command) {
  std::vector<results::ResultsFolder> folders;
  for (const std::string& path : command.results) folders.push_back(read_results(path));
  const fs::path out = command.out.empty() ? place_of(command.results.front(), "report.html")
                                           : fs::path(command.out);
  require_writable(out);
  std::vector<Reported> reports;
  for (results::ResultsFolder& folder : folders) {
    MetricHelp help = help_of_kind(folder.run["settings"]["kind"]);
    reports.push_back(reported(std::move(folder), std::ssize(reports) + 1, std::move(help)));
  }
  AtomicFile file(out);
  file.write(report_page(reports, {.margin = command.margin_percent / 100}));
  file.commit();
  note("report: {} ({:.0f} kB)\n", out.string(), static_cast<double>(file.bytes_written()) / 1e3);
  bool is_drawn = true;
  for (const Reported& report : reports) {
    if (!report.no_figures.empty()) note("reprise: {}\n", report.no_figures);
    is_drawn = is_drawn && report.no_figures.empty();
  }
  if (!is_drawn) throw ExitStatus{kNoFigureStatus};
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto options = std::make_shared<ReportCommand>();
  CLI::App* command = app.add_subcommand(
      "report", "Write one HTML page of results: tables, figures, validity, what changed");
  command
      ->add_option(
          "results", options->results,
          "folders that `reprise run` wrote, or their records*.jsonl; of two with the same "
          "experiment the first is the one before")
      ->required()
      ->check(not_empty());
  command
      ->add_option("--out", options->out,
                   "the page's file (default: report.html in the first folder, NAME-report.html "
                   "beside NAME.jsonl)")
      ->check(not_empty());
  command
      ->add_option("--margin", options->margin_percent,
                   "percent from which a change between two folders matters (default: 10)")
      ->check(number_within(0.01, 100));
  command->callback([options] { make_report(*options); });
}

}  // namespace reprise::app
