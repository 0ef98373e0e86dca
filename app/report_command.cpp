// `reprise report`: writes one HTML page about one or several results folders.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>

#include "app/commands.h"
#include "app/exit_status.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/python.h"
#include "app/report/facts.h"
#include "app/results_source.h"
#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/visible.h"
#include "experiments/kinds/registry.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

struct ReportCommand {
  std::vector<std::string> results;
  std::string out;
  double margin_percent = 100 * checks::kRecordedMargin;
};

// The descriptions of all metrics of a kind that this program knows.
std::map<std::string, std::string> help_of_kind(const std::string& name) {
  std::map<std::string, std::string> help;
  for (const experiments::KindInfo& kind : experiments::known_kinds())
    if (kind.name == name)
      for (const MetricInfo& metric : kind.metrics) help[metric.name] = metric.help;
  return help;
}

// Throws Error if the page cannot be written. Called before the figures are drawn, which takes
// seconds. If `out` is not a regular file, for example a pipe, it is not tried, because the pipe's
// reader would see it opened and closed.
void require_writable(const fs::path& out, AtomicFile::Links links) {
  std::error_code error;
  if (fs::is_directory(out, error))
    raise("{} is a folder; name a file with --out, such as {}", out.string(),
          (out / "report.html").string());
  if (fs::exists(out, error) && !fs::is_regular_file(out, error)) return;
  try {
    const AtomicFile trial(out, links);
  } catch (const Error& problem) {
    raise("{} (--out FILE)", problem.what());
  }
}

// Adds a report's figures, or the reason why it has none; the page then shows only its numbers.
void add_figures(Fields& report) {
  report["figures"] = Values();
  try {
    report["figures"] = draw_page_figures(report);
  } catch (const Error& error) {
    report["no_figures"] = visible(error.what(), "");
  }
}

void make_report(const ReportCommand& command) {
  std::vector<Reported> reports;
  for (const std::string& path : command.results) {
    reports.push_back({.folder = read_results(path, /*draws=*/true), .help = {}});
    reports.back().help = help_of_kind(reports.back().folder.run.settings.kind);
  }
  const bool is_named = !command.out.empty();
  const fs::path out =
      is_named ? fs::path(command.out) : place_of(command.results.front(), "report.html");
  const auto links = is_named ? AtomicFile::Links::kFollow : AtomicFile::Links::kReplace;
  require_writable(out, links);
  const std::string python = page_python(fmt::format("{}", fmt::join(command.results, " ")));
  Fields document = report_document(reports, {.margin = command.margin_percent / 100});
  for (Value& report : document.at("reports").list()) add_figures(report.fields());
  const Page page = render_page(python, document);
  AtomicFile file(out, links);
  file.write(page.html);
  file.commit();
  note("report: {} ({:.0f} kB)\n", out.string(), static_cast<double>(file.bytes_written()) / 1e3);
  for (const std::string& reason : page.undrawn) note("reprise: {}\n", reason);
  if (!page.undrawn.empty()) throw ExitStatus{kNoFigureStatus};
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
