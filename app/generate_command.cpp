// `reprise generate`: text from one prompt as it is generated, with its times.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/interrupt.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/device/memory.h"
#include "core/engine/engine.h"
#include "core/tokenizer/tokenizer.h"
#include "experiments/kinds/bench.h"
#include "methods/registry.h"
#include "results/table.h"

namespace reprise::app {
namespace {

constexpr size_t kMostPromptBytes = size_t{64} << 20;

struct GenerateCommand {
  std::string model, method = "contiguous", method_options;
  std::string prompt, prompt_file;
  std::vector<int32_t> ids;
  int32_t max_new_tokens = 128;
  engine::SamplingOptions sampling;
  std::string dtype = "f32", kv_dtype;
  int32_t prefill_chunk = 512;
  bool random_weights = false, ignore_eos = false;
  uint64_t weights_seed = 1;
};

void check(const GenerateCommand& command) {
  const int sources = (command.prompt.empty() ? 0 : 1) + (command.prompt_file.empty() ? 0 : 1) +
                      (command.ids.empty() ? 0 : 1);
  if (sources != 1) raise("give one of --prompt TEXT, --prompt-file FILE and --ids 1,2,3");
  if (command.max_new_tokens < 1)
    raise("--max-new-tokens is {}, it must be at least 1", command.max_new_tokens);
  if (command.prefill_chunk < 1)
    raise("--prefill-chunk is {}, it must be at least 1", command.prefill_chunk);
  const engine::SamplingOptions& sampling = command.sampling;
  if (!(sampling.temperature >= 0 && sampling.temperature <= 100))
    raise("--temperature is {}, it must be from 0 (greedy) to 100", sampling.temperature);
  if (!(sampling.top_p > 0 && sampling.top_p <= 1))
    raise("--top-p is {}, it must be above 0 and at most 1", sampling.top_p);
  if (sampling.top_k < 0) raise("--top-k is {}, it must be at least 0 (0: all)", sampling.top_k);
}

// Shows tokens as they come: text where the prompt was text, ids where it was ids.
class Printer {
 public:
  explicit Printer(const Tokenizer* tokenizer) {
    if (tokenizer != nullptr) stream_ = tokenizer->stream();
  }
  void token(int32_t id) {
    if (stream_ == nullptr) {
      put(fmt::format("{}{}", is_first_ ? "" : " ", id));
    } else {
      put(stream_->push(id));
    }
    is_first_ = false;
  }
  void end() {
    if (stream_ != nullptr) put(stream_->flush());
    put("\n");
  }

 private:
  static void put(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  std::unique_ptr<StreamDecoder> stream_;
  bool is_first_ = true;
};

struct Timing {
  engine::RequestTimes times;
  int64_t last_token_ns = 0;
  int64_t tokens = 0;
};

void print_summary(const Timing& timing, size_t prompt_tokens, const engine::Engine& engine) {
  using results::short_number;
  if (timing.tokens == 0) return;
  const double ttft_ms =
      static_cast<double>(timing.times.first_token - timing.times.submitted) * 1e-6;
  fmt::print(stderr, "\n{} prompt tokens, {} generated\nTTFT {} ms ({} prompt tokens/s)\n",
             prompt_tokens, timing.tokens, short_number(ttft_ms),
             short_number(static_cast<double>(prompt_tokens) / (ttft_ms * 1e-3)));
  if (timing.tokens > 1) {
    const double tpot_ms = static_cast<double>(timing.last_token_ns - timing.times.first_token) *
                           1e-6 / static_cast<double>(timing.tokens - 1);
    fmt::print(stderr, "TPOT {} ms ({} tokens/s)\n", short_number(tpot_ms),
               short_number(1e3 / tpot_ms));
  }
  constexpr double kMiB = 1 << 20;
  fmt::print(stderr, "keys and values {} MiB, process peak {} MiB\n",
             short_number(static_cast<double>(engine.pool().peak_bytes()) / kMiB),
             short_number(static_cast<double>(peak_resident_bytes()) / kMiB));
}

Timing generate(engine::Engine& engine, engine::Request request, Printer& printer,
                const std::atomic<bool>& stop) {
  Timing timing;
  const engine::RequestId id = request.id;
  engine.submit(std::move(request));
  while (engine.has_work()) {
    if (stop) engine.cancel(id);
    const engine::StepReport report = engine.step();
    engine::require_served(report.events);
    for (const engine::TokenEvent& event : report.events) {
      if (event.has_token()) {
        ++timing.tokens;
        timing.last_token_ns = event.time_ns;
        printer.token(event.token);
      }
      timing.times = event.times;  // complete with the last one
    }
  }
  printer.end();
  return timing;
}

std::vector<int32_t> prompt_ids(const GenerateCommand& command, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return command.ids;
  const std::string text = command.prompt_file.empty()
                               ? command.prompt
                               : read_file(command.prompt_file, kMostPromptBytes);
  std::vector<int32_t> ids = tokenizer->encode(text);
  if (ids.empty()) raise("the prompt holds no token; give at least one character");
  return ids;
}

// Rotary models know no positions beyond those they were trained for: shortens the request to them.
void fit_positions(engine::Request& request, const model::ModelConfig& config) {
  const auto prompt_tokens = static_cast<int64_t>(request.prompt.size());
  if (config.position != model::PositionScheme::kRotary || config.max_positions <= 0) return;
  const int64_t room = config.max_positions - prompt_tokens;
  if (room < 1)
    raise("the prompt has {} tokens, model {} places at most {}; give a shorter prompt",
          prompt_tokens, config.name, config.max_positions);
  if (request.max_new_tokens <= room) return;
  fmt::print(stderr, "note: the model places {} tokens, so at most {} are generated\n",
             config.max_positions, room);
  request.max_new_tokens = static_cast<int32_t>(room);
}

void run(const GenerateCommand& command, const CommonOptions& common) {
  check(command);
  const Context context = make_context(common);
  const std::string model = experiments::resolve_path(command.model);
  const DType dtype = parse_dtype(command.dtype);
  const Json method_options = command.method_options.empty()
                                  ? Json()
                                  : parse_json(command.method_options, "--method-options");
  auto method = methods::make_method(command.method, method_options);
  std::unique_ptr<Tokenizer> tokenizer;
  if (command.ids.empty()) tokenizer = load_tokenizer(model);

  engine::Request request;
  request.prompt = prompt_ids(command, tokenizer.get());
  request.max_new_tokens = command.max_new_tokens;
  request.sampling = command.sampling;
  const size_t prompt_tokens = request.prompt.size();
  const auto decoder = model::load_decoder(
      model,
      {.dtype = dtype, .random_weights = command.random_weights, .seed = command.weights_seed},
      context);
  fit_positions(request, decoder->config());
  if (!command.ignore_eos)
    for (const int64_t id : decoder->config().eos_ids)
      request.stop_ids.push_back(static_cast<int32_t>(id));

  engine::EngineOptions options;
  options.limits.max_sequence_tokens = static_cast<int32_t>(
      std::min<int64_t>(static_cast<int64_t>(prompt_tokens) + request.max_new_tokens, INT32_MAX));
  options.kv_dtype = command.kv_dtype.empty() ? dtype : parse_dtype(command.kv_dtype);
  options.step_tokens = command.prefill_chunk;
  options.clock_ns = experiments::now_ns;
  engine::Engine engine(context, *decoder, std::move(method), options);
  Printer printer(tokenizer.get());
  const std::atomic<bool>& stop = watch_interrupts();
  const Timing timing = generate(engine, std::move(request), printer, stop);
  print_summary(timing, prompt_tokens, engine);
  if (stop) throw ExitStatus{kInterruptedStatus};
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = app.add_subcommand(
      "generate", "Generate from one prompt, streaming, with a summary of the times");
  command
      ->add_option("--model", options->model,
                   "folder of a checkpoint, or the name of a shipped shape")
      ->required();
  command->add_option("--method", options->method, "reuse method (default: contiguous)");
  command->add_option("--method-options", options->method_options, "its options, a JSON object");
  command->add_option("--prompt", options->prompt, "text to go on from");
  command->add_option("--prompt-file", options->prompt_file, "file with the text");
  command->add_option("--ids", options->ids, "token ids instead of text: 1,2,3; prints ids")
      ->delimiter(',');
  command->add_option("--max-new-tokens", options->max_new_tokens,
                      "most tokens to generate (default: 128)");
  command->add_option("--temperature", options->sampling.temperature, "0 is greedy (default: 0)");
  command->add_option("--top-p", options->sampling.top_p,
                      "sample from the likeliest tokens that hold this probability (default: 1)");
  command->add_option("--top-k", options->sampling.top_k,
                      "sample from this many likeliest (default: 0, all)");
  command->add_option("--seed", options->sampling.seed, "of sampling (default: 0)");
  command->add_option("--dtype", options->dtype,
                      "of weights and activations: f32 or bf16 (default: f32)");
  command->add_option("--kv-dtype", options->kv_dtype,
                      "of cached keys and values (default: as --dtype)");
  command->add_option("--prefill-chunk", options->prefill_chunk,
                      "most prompt tokens in one step (default: 512)");
  command->add_flag("--ignore-eos", options->ignore_eos, "go on after an end-of-text token");
  command->add_flag("--random-weights", options->random_weights,
                    "make weights instead of loading them");
  command->add_option("--weights-seed", options->weights_seed, "of random weights (default: 1)");
  const auto common = add_common_options(*command);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
