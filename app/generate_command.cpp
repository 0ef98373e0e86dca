// `reprise generate`: prints the text of one prompt as it is generated, with its times.
#include <CLI/CLI.hpp>
#include <atomic>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/generation.h"
#include "app/interrupt.h"
#include "app/kept_calibration.h"
#include "app/model_options.h"
#include "app/number_option.h"
#include "app/output.h"
#include "core/base/error.h"
#include "core/base/interrupted.h"
#include "core/device/memory.h"
#include "core/engine/engine.h"
#include "core/kernels/attention/step_attention.h"
#include "core/tokenizer/tokenizer.h"
#include "core/tokenizer/utf8.h"
#include "experiments/kinds/shared/bench.h"
#include "methods/registry.h"
#include "results/table.h"

namespace reprise::app {
namespace {

struct GenerateCommand {
  ModelOptions model;
  IdOptions ids;
  std::string prompt, prompt_file;
  std::vector<std::string> stops;
  GenerationOptions generation;
};

void check(const GenerateCommand& command) {
  const int sources = (command.prompt.empty() ? 0 : 1) + (command.prompt_file.empty() ? 0 : 1) +
                      (has_ids(command.ids) ? 1 : 0);
  if (sources != 1)
    raise(
        "give one of --prompt TEXT, --prompt-file FILE, --ids 1,2,3 and --ids-file FILE (- is "
        "standard input)");
  if (has_ids(command.ids) && !command.model.schema.empty())
    raise("--schema is of prompts that are text: give --prompt or --prompt-file, or leave it out");
  if (has_ids(command.ids) && !command.stops.empty())
    raise("--stop ends text, and --ids prints none; give --prompt TEXT, or leave --stop out");
  for (const std::string& stop : command.stops) tokenizer::require_utf8(stop, "--stop");
}

void print_summary(const Generation& outcome, size_t prompt_tokens, const std::string& stop_found,
                   const ChosenModel& chosen, const model::Decoder& decoder,
                   const engine::Engine& engine) {
  constexpr double kMiB = 1 << 20;
  const std::string imported =
      outcome.cached_tokens == 0 ? "" : fmt::format(" ({} of them cached)", outcome.cached_tokens);
  note("\n{} prompt tokens{}, {} generated, stopped by {}\n", prompt_tokens, imported,
       outcome.tokens, reason_text(outcome, stop_found));
  print_times(outcome, prompt_tokens);
  note("{}\n", chosen.dtype_text());
  note("{}, keys and values {} MiB, process peak {} MiB\n", weight_memory_text(decoder),
       results::short_number(static_cast<double>(engine.pool().peak_bytes()) / kMiB),
       results::short_number(static_cast<double>(peak_resident_bytes()) / kMiB));
}

// The text of --prompt or --prompt-file; "" if the prompt is given as ids.
std::string prompt_text(const GenerateCommand& command, const model::ModelConfig& config) {
  return command.prompt_file.empty() ? command.prompt
                                     : read_prompt_text(command.prompt_file, config);
}

// Makes a request of `text`, or of the token ids in `command` if `tokenizer` is null.
engine::Request request_of(const GenerateCommand& command, const std::string& text,
                           const methods::Method& method, const Tokenizer* tokenizer,
                           const model::ModelConfig& config) {
  engine::Request request;
  if (tokenizer == nullptr) {
    request.prompt = read_ids(command.ids, config);
  } else {
    request = read_prompt(method, *tokenizer, text,
                          command.prompt_file.empty() ? "--prompt" : command.prompt_file);
    // An empty text may still become the token that starts every text.
    if (text.empty() || request.prompt.empty())
      raise("the prompt holds no token; give at least one character");
  }
  complete(request, command.generation, config, engine::prompt_end(request));
  return request;
}

void run(const GenerateCommand& command, const CommonOptions& common) try {
  check(command);
  Context context = make_context(common);
  context.is_batch_invariant = command.model.is_batch_invariant;
  const ChosenModel chosen = choose_model(command.model, context.device);
  kernels::require_kv_dtype(context, chosen.kv_dtype);
  const auto method = make_chosen_method(command.model, context.device);
  std::unique_ptr<Tokenizer> tokenizer;
  if (!has_ids(command.ids)) tokenizer = load_tokenizer(chosen.place);
  std::optional<methods::Markup> markup;
  if (tokenizer != nullptr) markup = chosen_markup(command.model, chosen, *tokenizer);
  // The prompt's text is taken before watch_interrupts(), after which an interrupt would not end a
  // read of standard input. A plain prompt becomes a request now, so that its faults are found
  // before the weights are loaded. A prompt with markup becomes one only after the method has
  // encoded the schema's modules.
  const std::string text = prompt_text(command, chosen.config);
  engine::Request request;
  const auto read = [&] {
    request = request_of(command, text, *method, tokenizer.get(), chosen.config);
  };
  if (!markup) read();
  context = calibrated(std::move(context), common);
  const auto decoder = load_chosen(chosen, command.model, context);
  const std::atomic<bool>& stop = watch_interrupts();
  methods::Setup setup = methods::generation_setup(
      *decoder, context, chosen.kv_dtype, command.generation.prefill_chunk,
      {.device = context.device, .markup = markup ? &*markup : nullptr});
  setup.between = interruption_of(stop);
  method->prepare(setup);
  if (markup) read();
  setup.between();
  const size_t prompt_tokens = request.prompt.size();

  engine::EngineOptions options;
  const int64_t computed = request.markup == nullptr ? static_cast<int64_t>(prompt_tokens)
                                                     : request.markup->computed_tokens();
  options.limits.max_sequence_tokens =
      static_cast<int32_t>(std::min<int64_t>(computed + request.max_new_tokens, INT32_MAX));
  options.kv_dtype = chosen.kv_dtype;
  options.step_tokens = command.generation.prefill_chunk;
  options.clock_ns = experiments::now_ns;
  auto cache = methods::join(method->parts(), options);
  engine::Engine engine(context, *decoder, std::move(cache), options);
  TokenPrinter printer = output_printer(tokenizer == nullptr ? nullptr : tokenizer->stream(),
                                        tokenizer::StopText(command.stops));
  const Generation outcome = generate(engine, std::move(request), printer, stop);
  print_summary(outcome, prompt_tokens, printer.stop_found(), chosen, *decoder, engine);
  if (stop) throw ExitStatus{kInterruptedStatus};
} catch (const Interrupted&) {
  note("interrupted before the first token\n");
  throw ExitStatus{kInterruptedStatus};
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

}  // namespace

void add_generate_command(CLI::App& app) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = app.add_subcommand(
      "generate", "Generate from one prompt, streaming, with a summary of the times");
  add_model_options(*command, "--weights-seed", options->model);
  add_batch_invariant_option(*command, options->model);
  add_schema_option(*command, options->model);
  add_prompt_options(*command, *options);
  add_generation_options(*command, options->generation);
  const auto common = add_computing_options(*command);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
