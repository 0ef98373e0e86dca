#include "app/results_source.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "app/experiment_files.h"
#include "app/number_option.h"
#include "app/output.h"
#include "core/base/error.h"
#include "experiments/framework/record_manifest.h"
#include "experiments/kinds/registry.h"
#include "results/data_dir.h"
#include "results/gzip.h"
#include "results/manifest.h"
#include "results/store.h"

namespace reprise::app {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// The shipped experiment that the records name, at their scale, with its stand-in if the records
// are of that; nullopt if there is none or its kind has changed.
std::optional<experiments::Experiment> shipped_experiment(
    const std::vector<results::Record>& records, const experiments::Vocabulary& vocabulary) {
  const results::Origin& named = records.front().experiment;
  for (const fs::path& path : shipped_experiments()) {
    const fs::path file = results::data_dir() / path;
    if (field_of(read_json(file), "name") != Value(named.name)) continue;
    const auto load = [&](experiments::Inputs inputs) {
      return experiments::load_experiment(file, named.scale.empty() ? "desk" : named.scale, {},
                                          vocabulary, inputs);
    };
    experiments::Experiment found = load(experiments::Inputs::kNamed);
    if (found.kind.name != named.kind) continue;
    if (!found.has_stand_in) return found;
    experiments::Experiment stand_in = load(experiments::Inputs::kStandIn);
    return experiments::have_inputs_of(stand_in, records) ? stand_in : found;
  }
  return std::nullopt;
}

// Reads records without a manifest. The settings are in the records; the figures to draw come from
// the experiment.
results::ResultsFolder read_records_alone(const fs::path& file, bool draws) {
  results::WholeRecords whole = results::read_record_files({file});
  results::ResultsFolder folder{.source = file.string(),
                                .run = {},
                                .records = std::move(whole.records),
                                .skipped = {},
                                .torn_bytes = whole.torn_bytes};
  if (folder.records.empty()) raise("{} holds no complete record", folder.source);
  if (whole.repeated > 0)
    note("{} record{} of points that an earlier line has {} not shown\n", whole.repeated,
         whole.repeated == 1 ? "" : "s", whole.repeated == 1 ? "is" : "are");
  const experiments::Vocabulary vocabulary = experiments::known_vocabulary();
  const results::Origin& named = folder.records.front().experiment;
  const auto shipped = shipped_experiment(folder.records, vocabulary);
  folder.run = experiments::manifest_of_records(folder.records, folder.source, shipped, vocabulary);
  results::check_made_manifest(folder.run, folder.source);
  if (!draws) return folder;
  const results::Plot& plot = folder.run.plots.front();
  if (shipped && !shipped->plots.empty())
    note("figures as the shipped experiment {} draws them\n", shipped->name);
  else
    note("this program ships no experiment \"{}\" with figures; drawing {} against {}\n",
         named.name, plot.y, plot.x);
  return folder;
}

}  // namespace

void add_results_argument(CLI::App& command, std::string& path) {
  command
      .add_option(
          "results", path,
          "folder that `reprise run` wrote, or one of its records*.jsonl, packed (.gz) or not")
      ->required()
      ->check(not_empty());
}

results::ResultsFolder read_results(const fs::path& path, bool draws) {
  return is_file(path) ? read_records_alone(path, draws) : results::read_folder(path);
}

fs::path place_of(const fs::path& results, const std::string& name) {
  if (!is_file(results)) return results / name;
  return results.parent_path() / (results::unpacked_name(results).stem().string() + "-" + name);
}

}  // namespace reprise::app
