// `reprise generate`: text from one prompt as it is generated, with its times.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/model_options.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/token_printer.h"
#include "core/base/error.h"
#include "core/device/memory.h"
#include "core/engine/engine.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/utf8.h"
#include "experiments/kinds/bench.h"
#include "results/table.h"

namespace reprise::app {
namespace {

constexpr int64_t kMostNewTokens = int64_t{1} << 24;     // positions end there
constexpr int64_t kMostPrefillChunk = int64_t{1} << 20;  // as experiment files take it

struct GenerateCommand {
  ModelOptions model;
  IdOptions ids;
  std::string prompt, prompt_file;
  std::vector<std::string> stops;
  int32_t max_new_tokens = 128;
  engine::SamplingOptions sampling;
  int32_t prefill_chunk = 512;
  bool ignore_eos = false;
};

void check(const GenerateCommand& command) {
  const int sources = (command.prompt.empty() ? 0 : 1) + (command.prompt_file.empty() ? 0 : 1) +
                      (has_ids(command.ids) ? 1 : 0);
  if (sources != 1)
    raise(
        "give one of --prompt TEXT, --prompt-file FILE, --ids 1,2,3 and --ids-file FILE (- is "
        "standard input)");
  if (has_ids(command.ids) && !command.stops.empty())
    raise("--stop ends text, and --ids prints none; give --prompt TEXT, or leave --stop out");
  for (const std::string& stop : command.stops) tokenizer::require_utf8(stop, "--stop");
}

struct Outcome {
  engine::RequestTimes times;
  engine::FinishReason finish = engine::FinishReason::kNone;
  int64_t last_token_ns = 0;
  int64_t tokens = 0;
  int32_t last_token = -1;
};

std::string reason_text(const Outcome& outcome, const std::string& stop_found) {
  using engine::FinishReason;
  if (!stop_found.empty()) return fmt::format("stop text \"{}\"", visible(stop_found, ""));
  switch (outcome.finish) {
    case FinishReason::kLength:
      return fmt::format("length, {} tokens", outcome.tokens);
    case FinishReason::kStop:
      return fmt::format("end of sequence, token {}", outcome.last_token);
    case FinishReason::kCancelled:
      return "interrupted";
    default:
      return engine::name_of(outcome.finish);
  }
}

void print_times(const Outcome& outcome, size_t prompt_tokens) {
  using results::short_number;
  if (outcome.tokens == 0) return;
  const double ttft_ms =
      static_cast<double>(outcome.times.first_token - outcome.times.submitted) * 1e-6;
  note("TTFT {} ms ({} prompt tokens/s)\n", short_number(ttft_ms),
       short_number(static_cast<double>(prompt_tokens) / (ttft_ms * 1e-3)));
  if (outcome.tokens == 1) return;
  const double tpot_ms = static_cast<double>(outcome.last_token_ns - outcome.times.first_token) *
                         1e-6 / static_cast<double>(outcome.tokens - 1);
  note("TPOT {} ms ({} tokens/s)\n", short_number(tpot_ms), short_number(1e3 / tpot_ms));
}

void print_summary(const Outcome& outcome, size_t prompt_tokens, const std::string& stop_found,
                   const ChosenModel& chosen, const engine::Engine& engine) {
  constexpr double kMiB = 1 << 20;
  note("\n{} prompt tokens, {} generated, stopped by {}\n", prompt_tokens, outcome.tokens,
       reason_text(outcome, stop_found));
  print_times(outcome, prompt_tokens);
  note("{}\n", chosen.dtype_text());
  note("keys and values {} MiB, process peak {} MiB\n",
       results::short_number(static_cast<double>(engine.pool().peak_bytes()) / kMiB),
       results::short_number(static_cast<double>(peak_resident_bytes()) / kMiB));
}

Outcome generate(engine::Engine& engine, engine::Request request, TokenPrinter& printer,
                 const std::atomic<bool>& stop) {
  Outcome outcome;
  const engine::RequestId id = request.id;
  engine.submit(std::move(request));
  while (engine.has_work()) {
    if (stop || !printer.stop_found().empty()) engine.cancel(id);
    const engine::StepReport report = engine.step();
    engine::require_served(report.events);
    for (const engine::TokenEvent& event : report.events) {
      if (event.has_token()) {
        ++outcome.tokens;
        outcome.last_token = event.token;
        outcome.last_token_ns = event.time_ns;
        printer.token(event.token);
      }
      outcome.times = event.times;  // complete with the last one
      outcome.finish = event.finish;
    }
  }
  printer.end();
  return outcome;
}

std::vector<int32_t> prompt_of(const GenerateCommand& command, const Tokenizer* tokenizer,
                               const model::ModelConfig& config) {
  if (tokenizer == nullptr) return read_ids(command.ids, config);
  const std::string text =
      command.prompt_file.empty() ? command.prompt : read_text(command.prompt_file);
  std::vector<int32_t> ids = tokenizer->encode(text);
  // An empty text may still become the token that begins every text.
  if (text.empty() || ids.empty()) raise("the prompt holds no token; give at least one character");
  return ids;
}

engine::Request request_of(const GenerateCommand& command, const Tokenizer* tokenizer,
                           const model::ModelConfig& config) {
  engine::Request request;
  request.prompt = prompt_of(command, tokenizer, config);
  request.sampling = command.sampling;
  if (!command.ignore_eos)
    for (const int64_t id : config.eos_ids) request.stop_ids.push_back(static_cast<int32_t>(id));
  const auto prompt_tokens = std::ssize(request.prompt);
  // One position more: for the token that is generated.
  require_positions(config, prompt_tokens + 1, "the prompt with a token behind it",
                    "give a shorter prompt");
  const int64_t room = positions_left(config, prompt_tokens);
  if (command.max_new_tokens > room)
    note("note: the model places {} tokens, so at most {} are generated\n", config.max_positions,
         room);
  request.max_new_tokens = static_cast<int32_t>(std::min<int64_t>(command.max_new_tokens, room));
  return request;
}

void run(const GenerateCommand& command, const CommonOptions& common) {
  check(command);
  const Context context = make_context(common);
  const ChosenModel chosen = choose_model(command.model);
  auto method = make_chosen_method(command.model, chosen.config);
  std::unique_ptr<Tokenizer> tokenizer;
  if (!has_ids(command.ids)) tokenizer = load_tokenizer(chosen.place);
  engine::Request request = request_of(command, tokenizer.get(), chosen.config);
  const size_t prompt_tokens = request.prompt.size();
  const auto decoder = load_chosen(chosen, command.model, context);

  engine::EngineOptions options;
  options.limits.max_sequence_tokens = static_cast<int32_t>(
      std::min<int64_t>(static_cast<int64_t>(prompt_tokens) + request.max_new_tokens, INT32_MAX));
  options.kv_dtype = chosen.kv_dtype;
  options.step_tokens = command.prefill_chunk;
  options.clock_ns = experiments::now_ns;
  engine::Engine engine(context, *decoder, std::move(method), options);
  TokenPrinter printer(tokenizer == nullptr ? nullptr : tokenizer->stream(),
                       StopText(command.stops), isatty(STDOUT_FILENO) != 0,
                       [](std::string_view text) {
                         write_output(text);
                         flush_output();
                       });
  const std::atomic<bool>& stop = watch_interrupts();
  const Outcome outcome = generate(engine, std::move(request), printer, stop);
  print_summary(outcome, prompt_tokens, printer.stop_found(), chosen, engine);
  if (stop) throw ExitStatus{kInterruptedStatus};
}

void add_prompt_options(CLI::App& command, GenerateCommand& options) {
  command.add_option("--prompt", options.prompt, "text to go on from")->check(not_empty());
  command
      .add_option("--prompt-file", options.prompt_file, "file with the text; - is standard input")
      ->check(not_empty());
  add_id_options(command, "token ids instead of text: 1,2,3; prints ids", options.ids);
  command
      .add_option("--stop", options.stops,
                  "end where this text is generated, and leave it out; may be given several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->check(not_empty());
}

void add_sampling_options(CLI::App& command, engine::SamplingOptions& sampling) {
  command.add_option("--temperature", sampling.temperature, "0 is greedy (default: 0)")
      ->check(number_within(0, 100));
  command
      .add_option("--top-p", sampling.top_p,
                  "sample from the likeliest tokens that hold this probability (default: 1)")
      ->check(number_above(0, 1));
  command
      .add_option("--top-k", sampling.top_k, "sample from this many likeliest (default: 0, all)")
      ->check(integer_within(0, INT32_MAX));
  command.add_option("--seed", sampling.seed, "of sampling (default: 0)")->check(seed_number());
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = app.add_subcommand(
      "generate", "Generate from one prompt, streaming, with a summary of the times");
  add_model_options(*command, "--weights-seed", options->model);
  add_prompt_options(*command, *options);
  command
      ->add_option("--max-new-tokens", options->max_new_tokens,
                   "most tokens to generate (default: 128)")
      ->check(integer_within(1, kMostNewTokens));
  add_sampling_options(*command, options->sampling);
  command
      ->add_option("--prefill-chunk", options->prefill_chunk,
                   "most prompt tokens in one step (default: 512)")
      ->check(integer_within(1, kMostPrefillChunk));
  command->add_flag("--ignore-eos", options->ignore_eos, "go on after an end-of-text token");
  const auto common = add_common_options(*command);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
