// `reprise check`: tests whether a kernel became slower.
#include <unistd.h>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "app/check_progress.h"
#include "app/check_report.h"
#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/number_option.h"
#include "app/output.h"
#include "checks/change.h"
#include "checks/check.h"
#include "checks/machine_lock.h"
#include "checks/record.h"
#include "core/base/child_process.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/kernels/device/measure_device.h"
#include "results/gzip.h"
#include "results/provenance.h"
#include "results/record.h"

namespace reprise::app {
namespace {

// Defaults of --margin, as ratios. A comparison with a recorded baseline has a larger margin,
// because shares of the machine's limit vary more between sessions than ratios of interleaved runs.
constexpr double kLiveMargin = 0.03, kBaselineMargin = checks::kRecordedMargin;

struct CheckCommand {
  std::string candidate, against, record, filter, json;
  double margin_percent = 0;  // 0: kLiveMargin or kBaselineMargin
  checks::CheckOptions options;
  bool has_seed = false, is_realtime = false;
};

std::vector<double> load_averages() {
  double averages[3] = {0, 0, 0};
  if (getloadavg(averages, 3) != 3) return {};
  return {averages[0], averages[1], averages[2]};
}

bool is_baseline_file(const std::string& path) {
  return results::unpacked_name(path).extension() == ".json";
}

// True if a file could be written at `path`, also in folders that would have to be made if
// `makes_folders`. Writes and makes nothing.
bool can_write(const std::filesystem::path& path, bool makes_folders) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(path, error))
    return !fs::is_directory(path, error) && ::access(path.c_str(), W_OK) == 0;
  fs::path folder = fs::absolute(path).parent_path();
  while (makes_folders && !fs::exists(folder, error)) folder = folder.parent_path();
  return fs::is_directory(folder, error) && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

void refuse_wrong_use(const CheckCommand& command) {
  if (command.against.empty() == command.record.empty())
    raise("give either --against BASELINE, to compare, or --record FILE, to record a baseline");
  if (!command.record.empty() &&
      (!is_baseline_file(command.record) || results::is_packed(command.record)))
    raise("--record {}: give a file that ends in .json", command.record);
  if (!command.record.empty() && !can_write(command.record, /*makes_folders=*/true))
    raise("--record {}: cannot write there. Is it below a folder that you may write to?",
          command.record);
  if (!command.json.empty() && !can_write(command.json, /*makes_folders=*/false))
    raise("--json {}: cannot write there. Is the folder there, may you write to it?", command.json);
}

checks::Pairing pairing_of(const CheckCommand& command,
                           const std::vector<checks::Benchmark>& candidates,
                           const std::atomic<bool>& stop) {
  if (is_baseline_file(command.against))
    return checks::match(candidates, checks::read_baseline(command.against), command.against,
                         command.filter);
  const bool are_programs = !std::filesystem::is_directory(command.candidate) &&
                            !std::filesystem::is_directory(command.against);
  return checks::match(candidates, checks::list_benchmarks(command.against, stop), are_programs,
                       command.filter);
}

// Says which benchmarks were not compared, by the first few of their names.
void note_only_in(const char* side, const std::vector<std::string>& ids) {
  constexpr size_t kNamed = 3;
  if (ids.empty()) return;
  const auto named = ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), kNamed));
  note("not compared, because only the {} has them: {} benchmark{} ({}{})\n", side, ids.size(),
       ids.size() == 1 ? "" : "s", fmt::join(ids.begin(), named, ", "),
       ids.size() > kNamed ? ", ..." : "");
}

Fields requested_json(const CheckCommand& command) {
  return {{"candidate", std::filesystem::path(command.candidate).filename().string()},
          {"filter", command.filter},
          {"budget_s", command.options.budget_s},
          {"realtime", command.is_realtime}};
}

void write_json(const std::string& path, const Fields& json) {
  std::ofstream out(path, std::ios::trunc);
  out << json_text(json, 1) << '\n';
  if (!out.flush()) raise("cannot write {}; is there space?", path);
}

void record_baseline(const CheckCommand& command, const checks::Bench& bench,
                     const std::vector<checks::Benchmark>& benchmarks, Fields machine,
                     CheckProgress& progress) {
  machine["load_averages"] = load_averages();
  checks::Baseline baseline{
      .entries = checks::record(
          benchmarks, {.budget_s = command.options.budget_s, .seed = command.options.seed}, bench,
          progress),
      .machine = std::move(machine),
      .provenance = written_fields(results::provenance()),
      .settings = requested_json(command)};
  checks::write_baseline(baseline, command.record);
  progress.end();
  print("{} benchmark{} recorded in {}\n", baseline.entries.size(),
        baseline.entries.size() == 1 ? "" : "s", command.record);
}

void compare(const CheckCommand& command, const checks::Bench& bench,
             const checks::Pairing& pairing, const Fields& machine, CheckProgress& progress) {
  Fields context = {{"started_at", results::utc_now()},
                    {"realtime", command.is_realtime},
                    {"load_averages_before", load_averages()}};
  const checks::CheckOutcome outcome =
      checks::run_check(pairing.subjects, command.options, bench, progress);
  progress.end();
  context["ended_at"] = results::utc_now();
  context["load_averages_after"] = load_averages();
  context["only_in_candidate"] = pairing.only_candidate;
  context["only_in_baseline"] = pairing.only_baseline;
  context["machine"] = machine;
  context["provenance"] = written_fields(results::provenance());
  print("{}{}\n", check_table(outcome.results, command.options), check_summary(outcome.results));
  flush_output();
  if (!command.json.empty())
    write_json(command.json, check_json(outcome, command.options, context));
  note_only_in("candidate", pairing.only_candidate);
  note_only_in("baseline", pairing.only_baseline);
  if (outcome.was_interrupted) {
    note("interrupted: the verdicts above are those reached so far\n");
    throw ExitStatus{kInterruptedStatus};
  }
  for (const checks::BenchmarkResult& result : outcome.results)
    if (result.verdict == checks::Verdict::kSlower) throw ExitStatus{kSlowerStatus};
}

void check(CheckCommand command, const CommonOptions& common) {
  refuse_wrong_use(command);
  if (!command.has_seed) command.options.seed = std::random_device{}();
  command.options.margin = command.margin_percent > 0          ? command.margin_percent / 100
                           : is_baseline_file(command.against) ? kBaselineMargin
                                                               : kLiveMargin;
  const Context context = make_context(common);
  const std::atomic<bool>& stop = watch_interrupts();
  CheckProgress progress(stderr, isatty(STDERR_FILENO) != 0);
  try {
    const auto candidates =
        checks::filtered(checks::list_benchmarks(command.candidate, stop), command.filter);
    const auto pairing =
        command.record.empty() ? pairing_of(command, candidates, stop) : checks::Pairing{};
    const checks::MachineLock lock;
    progress.phase("measuring the machine's limits");
    if (command.is_realtime) use_realtime_priority();
    const MachineLimits limits = probe_machine(context);
    const MachineProbe probe(context);
    const checks::Bench bench{.probe = probe, .machine = limits, .stop = stop};
    Machine measured = machine_of(context, limits);
    measured.device = kernels::measure_device(context.runtime);
    const Fields machine = written_fields(measured);
    if (command.record.empty())
      compare(command, bench, pairing, machine, progress);
    else
      record_baseline(command, bench, candidates, machine, progress);
  } catch (const Interrupted&) {
    progress.end();
    note("interrupted before there was anything to report, at: {}\n", progress.now());
    throw ExitStatus{kInterruptedStatus};
  } catch (...) {
    progress.end();
    throw;
  }
}

}  // namespace

void add_check_command(CLI::App& app) {
  auto options = std::make_shared<CheckCommand>();
  CLI::App* command = app.add_subcommand(
      "check", "Did a benchmark become slower? Ends with 1 if so, 0 if not, 2 on an error");
  command
      ->add_option("candidate", options->candidate,
                   "a build's bin folder (its programs *_bench), or one benchmark program")
      ->required()
      ->check(not_empty());
  command
      ->add_option(
          "--against", options->against,
          "the same of another build, or a baseline: results/baselines/NAME.json, packed (.gz) or "
          "not")
      ->check(not_empty());
  CLI::Option* record =
      command->add_option("--record", options->record, "write a baseline to this file instead")
          ->check(not_empty());
  command
      ->add_option("--filter", options->filter,
                   "benchmarks whose \"program/name\" holds a match of this expression")
      ->check(not_empty());
  // The option's lower bound: smaller margins would need more rounds than any budget allows.
  command
      ->add_option(
          "--margin", options->margin_percent,
          "percent of time from which a change matters (default: 3, against a baseline file 10)")
      ->excludes(record)
      ->check(number_within(0.01, 100));
  command
      ->add_option("--budget", options->options.budget_s,
                   "most seconds of rounds for each benchmark (default: 20)")
      ->check(number_within(0.01, 86400));
  command
      ->add_option("--false-alarm", options->options.false_alarm,
                   "most probability of any wrong verdict in the whole check (default: 0.01)")
      ->excludes(record)
      ->check(number_within(1e-6, 0.49));
  command
      ->add_option("--calibration", options->options.calibration_rounds,
                   "A/A pairs of each benchmark (default: 10)")
      ->excludes(record)
      ->check(integer_within(4, 1000));
  CLI::Option* seed = command
                          ->add_option("--seed", options->options.seed,
                                       "of the random orders (default: another each time)")
                          ->check(seed_number());
  command->add_option("--json", options->json, "write every sample and verdict to this file too")
      ->excludes(record)
      ->check(not_empty());
  command->add_flag("--realtime", options->is_realtime,
                    "let the benchmarks preempt this machine's other programs (needs privileges)");
  const auto common = add_device_option(*command);
  command->callback([options, common, seed] {
    options->has_seed = seed->count() > 0;
    check(*options, *common);
  });
}

}  // namespace reprise::app
