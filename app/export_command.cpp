// `reprise export`: prints results as rows that stand alone, for other programs.
#include <CLI/CLI.hpp>

#include "app/commands.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/record_table.h"
#include "app/results_source.h"

namespace reprise::app {

void add_export_command(CLI::App& app) {
  struct ExportCommand {
    std::string results;
    TableOptions table = {.format = "csv"};
  };
  auto options = std::make_shared<ExportCommand>();
  CLI::App* command = app.add_subcommand(
      "export",
      "Print results as rows for other programs, each with all its settings; draw nothing");
  add_results_argument(*command, options->results);
  command->add_option("--format", options->table.format, "csv or json (default: csv)");
  command
      ->add_option("--metrics", options->table.metrics, "metrics to print, as a,b (default: all)")
      ->check(not_empty());
  command->callback([options] {
    write_output(exported_rows(read_results(options->results), options->table));
    flush_output();
  });
}

}  // namespace reprise::app
