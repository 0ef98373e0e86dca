// Runs one request through an engine and prints its tokens as they come.
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

// Adds --max-new-tokens, --temperature, --top-p, --top-k, --seed, --prefill-chunk and --ignore-eos.
void add_generation_options(CLI::App& command, GenerationOptions& options);

// Sets the request's sampling, stop tokens and number of new tokens. `length` is the prompt's
// largest position + 1. Throws Error if the model has no position left for a new token. If the
// model has fewer positions left than --max-new-tokens, generates fewer tokens and prints a note.
void complete(engine::Request& request, const GenerationOptions& options,
              const model::ModelConfig& config, int64_t length);

// A printer that writes to standard output and flushes it after each token.
TokenPrinter output_printer(std::unique_ptr<StreamDecoder> decoder, tokenizer::StopText stop);

struct Generation {
  engine::RequestTimes times;
  engine::FinishReason finish = engine::FinishReason::kNone;
  int64_t last_token_ns = 0;
  int64_t tokens = 0;
  int32_t last_token = -1;
  int32_t cached_tokens = 0;  // see engine::TokenEvent

  // Time to first token: from submission to the first token. Needs at least one token.
  [[nodiscard]] double ttft_ms() const;
  // Mean time per output token after the first. Needs at least two tokens.
  [[nodiscard]] double tpot_ms() const;
};

// Submits `request`, the engine's only request, and runs the engine until the request ends. The
// request also ends at the printer's stop text and when `stop` is set. Throws Error if the engine
// refuses the request.
Generation generate(engine::Engine& engine, engine::Request request, TokenPrinter& printer,
                    const std::atomic<bool>& stop);

// The reason why the generation ended, for example "length, 12 tokens".
std::string reason_text(const Generation& outcome, const std::string& stop_found);

// Prints TTFT and TPOT as notes.
void print_times(const Generation& outcome, size_t prompt_tokens);

}  // namespace reprise::app
