// `reprise plot`: draws the figures of a results folder again.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/python.h"
#include "app/record_table.h"
#include "core/base/error.h"
#include "results/paper_numbers.h"
#include "results/store.h"

namespace reprise::app {

void add_plot_command(CLI::App& app) {
  auto dir = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("plot", "Draw the figures (PDF, PNG) of a results folder again");
  command->add_option("dir", *dir, "folder that `reprise run` wrote")
      ->required()
      ->check(not_empty());
  command->callback([dir] {
    const std::vector<Json> records = results::read_records(*dir);
    if (records.empty()) raise("{} holds no complete record yet; finish its run first", *dir);
    const Json manifest = read_json(std::filesystem::path(*dir) / "run.json");
    const std::string skipped = skipped_note(results::read_skipped(*dir));
    print("{}{}", record_table(records, manifest), skipped);
    flush_output();  // before the figures' names, which Python prints
    results::write_paper_points(*dir, manifest, records);
    draw_figures(*dir);
  });
}

}  // namespace reprise::app
