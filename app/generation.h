// One request through an engine as its tokens come, for the commands that print them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "app/token_printer.h"
#include "core/engine/engine.h"
#include "core/engine/sampling.h"
#include "core/model/config/config.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

struct GenerationOptions {
  int32_t max_new_tokens = 128;
  engine::SamplingOptions sampling;
  int32_t prefill_chunk = 512;
  bool ignore_eos = false;
};

// --max-new-tokens, --temperature, --top-p, --top-k, --seed, --prefill-chunk and --ignore-eos.
void add_generation_options(CLI::App& command, GenerationOptions& options);

// Gives a request what the options say. `length`: the prompt's largest position + 1. Throws Error
// where the model can place no token behind it, and notes where it can place fewer than are wanted.
void complete(engine::Request& request, const GenerationOptions& options,
              const model::ModelConfig& config, int64_t length);

// Writes to standard output, token by token.
TokenPrinter output_printer(std::unique_ptr<StreamDecoder> decoder, tokenizer::StopText stop);

struct Generation {
  engine::RequestTimes times;
  engine::FinishReason finish = engine::FinishReason::kNone;
  int64_t last_token_ns = 0;
  int64_t tokens = 0;
  int32_t last_token = -1;
  int32_t cached_tokens = 0;  // see engine::TokenEvent

  // From submitting to the first token; with at least one.
  [[nodiscard]] double ttft_ms() const;
  // Of each further token; with at least two.
  [[nodiscard]] double tpot_ms() const;
};

// Runs the engine until its only request has ended: by itself, by the printer's stop text, or
// because `stop` was set. Throws Error where the request is refused.
Generation generate(engine::Engine& engine, engine::Request request, TokenPrinter& printer,
                    const std::atomic<bool>& stop);

// "length, 12 tokens"
std::string reason_text(const Generation& outcome, const std::string& stop_found);

// Notes TTFT and TPOT.
void print_times(const Generation& outcome, size_t prompt_tokens);

}  // namespace reprise::app
