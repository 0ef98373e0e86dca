// `reprise plot`: tells and draws the results in a folder, or in one file of records, again.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/experiment_files.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/python.h"
#include "app/record_table.h"
#include "app/terminal.h"
#include "core/base/error.h"
#include "experiments/framework/record_manifest.h"
#include "experiments/kinds/registry.h"
#include "results/data_dir.h"
#include "results/drawing.h"
#include "results/manifest.h"
#include "results/store.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

struct PlotCommand {
  std::string results, out;
  TableOptions table;
};

// The shipped experiment of that name at the records' scale, if there is one and it is still of
// their kind.
std::optional<experiments::Experiment> shipped_experiment(
    const Json& named, const experiments::Vocabulary& vocabulary) {
  for (const fs::path& path : shipped_experiments()) {
    const fs::path file = results::data_dir() / path;
    if (read_json(file).value("name", "") != named.value("name", "")) continue;
    const std::string scale = named.value("scale", "desk");
    experiments::Experiment found =
        experiments::load_experiment(file, scale.empty() ? "desk" : scale, {}, vocabulary);
    if (found.kind.name == named.value("kind", "")) return found;
  }
  return std::nullopt;
}

// Records carry their settings; what to draw of them is the experiment's.
results::ResultsFolder read_records_alone(const fs::path& file) {
  results::ResultsFolder folder{.source = file.string(),
                                .run = {},
                                .records = results::read_record_files({file}),
                                .skipped = {}};
  if (folder.records.empty()) raise("{} holds no complete record", folder.source);
  const experiments::Vocabulary vocabulary = experiments::known_vocabulary();
  const Json& named = folder.records.front()["experiment"];
  const auto shipped = shipped_experiment(named, vocabulary);
  folder.run = results::checked_manifest(
      experiments::manifest_of_records(folder.records, folder.source, shipped, vocabulary),
      folder.source);
  const Json& plot = folder.run["plots"][0];
  if (shipped && !shipped->plots.empty())
    note("figures as the shipped experiment {} draws them\n", shipped->name);
  else
    note("this program ships no experiment \"{}\" with figures; drawing {} against {}\n",
         named.value("name", ""), plot["y"].get<std::string>(), plot["x"].get<std::string>());
  return folder;
}

void plot(PlotCommand command) {
  command.table.columns = output_columns(stdout);
  const fs::path path = command.results;
  std::error_code error;
  const bool is_file = fs::is_regular_file(path, error);
  const results::ResultsFolder folder =
      is_file ? read_records_alone(path) : results::read_folder(path);
  print_table(record_table(folder, command.table), command.table);
  if (folder.run["plots"].empty()) {
    note("the experiment of {} names no figures\n", folder.source);
    return;
  }
  fs::path out = command.out;
  if (out.empty())
    out = is_file ? path.parent_path() / (path.stem().string() + "-figures") : path / "figures";
  draw_figures(results::figures_document(folder), out);
}

}  // namespace

void add_plot_command(CLI::App& app) {
  auto options = std::make_shared<PlotCommand>();
  CLI::App* command = app.add_subcommand(
      "plot", "Print and draw (PDF, PNG) the results in a folder, or in a file of records, again");
  command
      ->add_option("results", options->results,
                   "folder that `reprise run` wrote, or one of its records*.jsonl")
      ->required()
      ->check(not_empty());
  command
      ->add_option("--out", options->out,
                   "folder of the figures (default: figures in the folder, NAME-figures beside "
                   "NAME.jsonl)")
      ->check(not_empty());
  add_table_options(*command, options->table);
  command->callback([options] { plot(*options); });
}

}  // namespace reprise::app
