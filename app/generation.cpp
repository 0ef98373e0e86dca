#include "app/generation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/model_options.h"
#include "app/number_option.h"
#include "app/output.h"
#include "core/base/visible.h"
#include "results/table.h"

namespace reprise::app {
namespace {

constexpr int64_t kMostNewTokens = int64_t{1} << 24;     // largest value of --max-new-tokens
constexpr int64_t kMostPrefillChunk = int64_t{1} << 20;  // as in experiment files

// Greedy generation, the default, would ignore --top-p and --top-k, so they need --temperature.
void add_sampling_options(CLI::App& command, engine::SamplingOptions& sampling) {
  CLI::Option* temperature =
      command.add_option("--temperature", sampling.temperature, "0 is greedy (default: 0)")
          ->check(number_within(0, 100));
  command
      .add_option("--top-p", sampling.top_p,
                  "sample from the likeliest tokens that hold this probability (default: 1)")
      ->check(number_above(0, 1))
      ->needs(temperature);
  command
      .add_option("--top-k", sampling.top_k, "sample from this many likeliest (default: 0, all)")
      ->check(integer_within(0, INT32_MAX))
      ->needs(temperature);
  command.add_option("--seed", sampling.seed, "of sampling (default: 0)")->check(seed_number());
}

}  // namespace

void add_generation_options(CLI::App& command, GenerationOptions& options) {
  command
      .add_option("--max-new-tokens", options.max_new_tokens,
                  "most tokens to generate (default: 128)")
      ->check(integer_within(1, kMostNewTokens));
  add_sampling_options(command, options.sampling);
  command
      .add_option("--prefill-chunk", options.prefill_chunk,
                  "most prompt tokens in one step (default: 512)")
      ->check(integer_within(1, kMostPrefillChunk));
  command.add_flag("--ignore-eos", options.ignore_eos, "go on after an end-of-text token");
}

void complete(engine::Request& request, const GenerationOptions& options,
              const model::ModelConfig& config, int64_t length) {
  request.sampling = options.sampling;
  if (!options.ignore_eos) request.stop_ids = {config.eos_ids.begin(), config.eos_ids.end()};
  // One position more, for the token that is generated.
  require_positions(config, length + 1, "the prompt with a token behind it",
                    "give a shorter prompt");
  const int64_t room = positions_left(config, length);
  if (options.max_new_tokens > room)
    note("note: the model places {} tokens, so at most {} are generated\n", config.position_limit(),
         room);
  request.max_new_tokens = static_cast<int32_t>(std::min<int64_t>(options.max_new_tokens, room));
}

TokenPrinter output_printer(std::unique_ptr<StreamDecoder> decoder, tokenizer::StopText stop) {
  return {std::move(decoder), std::move(stop), isatty(STDOUT_FILENO) != 0,
          [](std::string_view text) {
            write_output(text);
            flush_output();
          }};
}

double Generation::ttft_ms() const {
  return static_cast<double>(times.first_token - times.submitted) * 1e-6;
}

double Generation::tpot_ms() const {
  return static_cast<double>(last_token_ns - times.first_token) * 1e-6 /
         static_cast<double>(tokens - 1);
}

std::string reason_text(const Generation& outcome, const std::string& stop_found) {
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

void print_times(const Generation& outcome, size_t prompt_tokens) {
  using results::short_number;
  if (outcome.tokens == 0) return;
  const double ttft_ms = outcome.ttft_ms();
  note("TTFT {} ms ({} prompt tokens/s)\n", short_number(ttft_ms),
       short_number(static_cast<double>(prompt_tokens) / (ttft_ms * 1e-3)));
  if (outcome.tokens == 1) return;
  const double tpot_ms = outcome.tpot_ms();
  note("TPOT {} ms ({} tokens/s)\n", short_number(tpot_ms), short_number(1e3 / tpot_ms));
}

Generation generate(engine::Engine& engine, engine::Request request, TokenPrinter& printer,
                    const std::atomic<bool>& stop) {
  Generation outcome;
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
      outcome.times = event.times;  // complete after the last event
      outcome.finish = event.finish;
      outcome.cached_tokens = event.cached_tokens;
    }
  }
  printer.end();
  return outcome;
}

}  // namespace reprise::app
