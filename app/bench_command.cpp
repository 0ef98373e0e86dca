// `reprise bench`: measures the prefill and decode rates of one model, and their shares of this
// machine's limits.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/measured_machine.h"
#include "app/model_options.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/terminal.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "experiments/framework/runner.h"
#include "experiments/framework/sweep.h"
#include "experiments/kinds/registry.h"
#include "results/metric_name.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using experiments::Group;
using results::short_number;

constexpr int64_t kMostTokens = int64_t{1} << 20;

struct BenchCommand {
  ModelOptions model;
  std::vector<int64_t> prompt_tokens = {512}, new_tokens = {128}, batches = {1};
  int64_t depth = 1;
  int64_t repetitions = 5;
  std::string format = "table";
};

// An experiment whose measurements the table shows: a kind and the sweep of its axes.
struct Test {
  const char* kind;
  Fields sweep;
};

void refuse_repeated(const char* option, std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const auto repeated = std::adjacent_find(numbers.begin(), numbers.end());
  if (repeated != numbers.end()) raise("{} has {} twice; give each number once", option, *repeated);
}

std::vector<Test> tests_of(const BenchCommand& command) {
  const auto list = [](const std::vector<int64_t>& numbers) {
    return Values(numbers.begin(), numbers.end());
  };
  std::vector<Test> tests;
  if (!command.prompt_tokens.empty())
    tests.push_back({"ttft", {{"prompt_tokens", list(command.prompt_tokens)}}});
  if (!command.new_tokens.empty())
    tests.push_back({"decode",
                     {{"batch", list(command.batches)},
                      {"prompt_tokens", Values{command.depth}},
                      {"new_tokens", list(command.new_tokens)}}});
  return tests;
}

experiments::Experiment experiment_of(const BenchCommand& command, const Test& test,
                                      const ChosenModel& chosen, const Context& context) {
  Fields model = {{"model", command.model.model},
                  {"weights", command.model.random_weights ? "random" : "checkpoint"}};
  if (chosen.weight_format) model["weight_format"] = std::string(name_of(*chosen.weight_format));
  const Fields method = {{"name", command.model.method},
                         {"options", given_method_options(command.model)}};
  // A GPU multiplies 2048 rows at a higher rate than 512.
  Fields settings;
  if (context.device == Device::kCuda) settings["prefill_chunk"] = 2048;
  const Fields file = {{"name", "bench"},
                       {"title", "bench"},
                       {"kind", test.kind},
                       {"models", Values{model}},
                       {"dtypes", Values{std::string(name_of(chosen.dtype))}},
                       {"kv_dtype", std::string(name_of(chosen.kv_dtype))},
                       {"methods", Values{method}},
                       {"settings", settings},
                       {"sweep", test.sweep},
                       {"repetitions", command.repetitions},
                       {"warmup", 1},
                       {"seeds", Fields{{"weights", command.model.weights_seed}}}};
  return experiments::parse_experiment(file, "reprise bench", "desk", {},
                                       experiments::known_vocabulary());
}

// Returns the name of a row, such as "prefill 512" or "decode 128, batch 32".
std::string name_of_test(const Group& group, const std::string& kind) {
  const auto axis = [&](const char* name) {
    return json_text(field_of(group.requested.front(), name));
  };
  return kind == "ttft" ? "prefill " + axis("prompt_tokens")
                        : fmt::format("decode {}, batch {}", axis("new_tokens"), axis("batch"));
}

// A rate with its quartiles: "216 (214 to 217)".
std::string rate_text(const results::Metrics& metrics, const std::string& name) {
  const results::Metric* rate = results::find_metric(metrics, name);
  if (rate == nullptr) return "-";
  if (!rate->spread) return short_number(rate->value);
  return fmt::format("{} ({} to {})", short_number(rate->value), short_number(rate->spread->q1),
                     short_number(rate->spread->q3));
}

// The larger share of a limit, and which limit that is: "0.93 of memory".
std::string limit_text(const results::Metrics& metrics) {
  std::string text = "-";
  double most = 0;
  for (const auto& [name, what] :
       {std::pair("memory_limit_ratio", "memory"), std::pair("compute_limit_ratio", "arithmetic")})
    if (const results::Metric* share = results::find_metric(metrics, name);
        share != nullptr && share->value > most) {
      most = share->value;
      text = fmt::format("{} of {}", short_number(share->value), what);
    }
  return text;
}

class Bench {
 public:
  Bench(const BenchCommand& command, const Context& context, const CommonOptions& common)
      : command_(command),
        context_(context),
        available_bytes_(static_cast<double>(available_bytes_for(context))),
        chosen_(choose_model(command.model, context.device)) {
    (void)make_chosen_method(command.model,
                             context.device);  // refuses it before anything is measured
    for (const Test& test : tests_of(command)) plan(test);
    machine_ = measured_machine(context, common);
    for (const char* heading : {"model", "dtype", "method", "test"}) table_.column(heading);
    for (const char* heading : {"tokens/s", "of this machine's limit"})
      table_.column(heading, results::Table::Align::kRight);
  }

  void run(const std::atomic<bool>& stop) {
    for (PlannedTest& test : tests_) {
      for (const Group& group : test.groups) run(test, group, stop);
      test.kind.reset();  // frees its model before the next kind loads one
    }
  }

  // Number of tests that were not run because they do not fit into memory.
  [[nodiscard]] int64_t skipped() const { return skipped_; }

  void print_table() const {
    if (command_.format == "csv") return write_output(table_.csv());
    if (command_.format == "markdown") return write_output(table_.markdown());
    print("{}", table_.text());
    const std::string where = machine_.device
                                  ? machine_.device->name
                                  : fmt::format("{}, {} threads, {}", machine_.cpu,
                                                context_.threads, name_of(context_.isa));
    print("\n{}; medians of {} repetitions with quartiles\n", where, command_.repetitions);
  }

 private:
  struct PlannedTest {
    std::string name;  // name of the kind
    std::unique_ptr<experiments::Kind> kind;
    std::vector<Group> groups;
  };

  // Throws Error if a group cannot run, before any other is measured.
  void plan(const Test& test) {
    experiments::Experiment experiment = experiment_of(command_, test, chosen_, context_);
    PlannedTest planned{.name = test.kind, .kind = experiments::make_kind(test.kind, context_)};
    experiments::leave_out_missing(experiment, *planned.kind);
    planned.groups =
        experiments::expand(experiment, {.context = context_, .device = context_.device});
    for (const Group& group : planned.groups) planned.kind->check(group);
    tests_.push_back(std::move(planned));
  }

  void run(const PlannedTest& test, const Group& group, const std::atomic<bool>& stop) {
    const experiments::MemoryNeed need = test.kind->memory_need(group);
    if (need.bytes > available_bytes_) {
      ++skipped_;
      const std::string lack = fmt::format("needs {:.2f} GiB", need.bytes / 0x1p30);
      note("{}: skipped, {}\n", name_of_test(group, test.name), lack);
      return row(group, test.name, lack, "-");
    }
    const experiments::Measurement measured = test.kind->measure(group, machine_, stop).front();
    const std::string rate = rate_text(
        measured.metrics, test.name == "ttft" ? "prefill_tokens_per_s" : "decode_tokens_per_s");
    const std::string share = limit_text(measured.metrics);
    note("{}: {} tokens/s, {}\n", name_of_test(group, test.name), rate, share);
    row(group, test.name, rate, share);
  }

  void row(const Group& group, const std::string& kind, const std::string& rate,
           const std::string& share) {
    const std::string weights =
        chosen_.weight_format ? fmt::format(", weights {}", name_of(*chosen_.weight_format)) : "";
    table_.row({command_.model.model, std::string(name_of(chosen_.dtype)) + weights,
                experiments::label_of(group.methods.front()), name_of_test(group, kind), rate,
                share});
  }

  const BenchCommand& command_;
  Context context_;
  // Free memory before the first model is loaded. What a test needs includes its model, which may
  // be the one that the test before it loaded.
  double available_bytes_;
  ChosenModel chosen_;
  std::vector<PlannedTest> tests_;
  Machine machine_;
  results::Table table_;
  int64_t skipped_ = 0;
};

void run(const BenchCommand& command, const CommonOptions& common) {
  refuse_repeated("--prompt-tokens", command.prompt_tokens);
  refuse_repeated("--new-tokens", command.new_tokens);
  refuse_repeated("--batch", command.batches);
  const std::atomic<bool>& stop = watch_interrupts();
  Context context = make_context(common);
  context.is_batch_invariant = command.model.is_batch_invariant;
  Bench bench(command, context, common);
  try {
    bench.run(stop);
  } catch (const Interrupted&) {
    bench.print_table();
    throw ExitStatus{kInterruptedStatus};
  }
  bench.print_table();
  if (bench.skipped() == 0) return;
  note("{} of the tests above were skipped: they do not fit into memory\n", bench.skipped());
  throw ExitStatus{kSkippedStatus};
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto options = std::make_shared<BenchCommand>();
  CLI::App* command = app.add_subcommand(
      "bench", "Prefill and decode rates of a model, beside this machine's limits");
  add_model_options(*command, "--seed", options->model);
  add_batch_invariant_option(*command, options->model);
  const auto numbers = [&](const char* name, std::vector<int64_t>& list, int64_t least,
                           int64_t most, const char* help) {
    command->add_option(name, list, help)
        ->delimiter(',')
        ->check(integer_within(least, most))
        ->capture_default_str();
  };
  numbers("-p,--prompt-tokens", options->prompt_tokens, 1, kMostTokens,
          "lengths of prompts whose prefill is timed");
  numbers("-n,--new-tokens", options->new_tokens, 2, 65536,
          "numbers of tokens whose decoding is timed");
  numbers("-b,--batch", options->batches, 1, 4096, "sequences that decode together");
  command
      ->add_option("-d,--depth", options->depth,
                   "tokens of each sequence before decoding begins (default: 1)")
      ->check(integer_within(1, kMostTokens));
  command->add_option("-r,--repetitions", options->repetitions, "timed repetitions (default: 5)")
      ->check(integer_within(1, 1000));
  command->add_option("--format", options->format, "table, csv or markdown (default: table)")
      ->check(one_of("format", {"table", "csv", "markdown"}));
  const auto common = add_computing_options(*command);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
