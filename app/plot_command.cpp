// `reprise plot`: prints and draws the results of a folder or of one file of records again.
#include <CLI/CLI.hpp>

#include "app/commands.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/python.h"
#include "app/record_table.h"
#include "app/results_source.h"
#include "app/terminal.h"
#include "experiments/kinds/registry.h"
#include "results/drawing.h"

namespace reprise::app {
namespace {

struct PlotCommand {
  std::string results, out;
  TableOptions table;
};

void plot(PlotCommand command) {
  command.table.columns = output_columns(stdout);
  const results::ResultsFolder folder = read_results(command.results, /*draws=*/true);
  print_table(record_table(folder, command.table), command.table);
  if (folder.run.plots.empty()) {
    note("the experiment of {} names no figures\n", folder.source);
    return;
  }
  const std::filesystem::path out = command.out.empty() ? place_of(command.results, "figures")
                                                        : std::filesystem::path(command.out);
  // A link in a results folder from someone else must not make this program write elsewhere.
  std::error_code error;
  if (command.out.empty() && std::filesystem::is_symlink(out, error))
    raise("{} is a link, which drawing would follow: give --out FOLDER, or remove it",
          out.string());
  Fields document = results::figures_document(folder);
  document["looks"] = experiments::method_looks();
  draw_figures(document, out);
}

}  // namespace

void add_plot_command(CLI::App& app) {
  auto options = std::make_shared<PlotCommand>();
  CLI::App* command = app.add_subcommand(
      "plot", "Print and draw (PDF, PNG) the results in a folder, or in a file of records, again");
  add_results_argument(*command, options->results);
  command
      ->add_option("--out", options->out,
                   "folder of the figures (default: figures in the folder, NAME-figures beside "
                   "NAME.jsonl)")
      ->check(not_empty());
  add_table_options(*command, options->table);
  command->callback([options] { plot(*options); });
}

}  // namespace reprise::app
