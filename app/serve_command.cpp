// `reprise serve`: an OpenAI-compatible server with one model and one method.
#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/kept_calibration.h"
#include "app/measured_machine.h"
#include "app/output.h"
#include "app/serve_embeddings.h"
#include "app/serve_options.h"
#include "app/serve_trace.h"
#include "app/server_run.h"
#include "app/unit_option.h"
#include "core/base/interrupted.h"
#include "core/engine/engine.h"
#include "core/kernels/attention/step_attention.h"
#include "core/kv/block_pool.h"
#include "experiments/kinds/shared/places.h"
#include "methods/registry.h"
#include "server/served_model.h"

namespace reprise::app {
namespace {

int32_t sequence_tokens(const ServeOptions& options, const model::ModelConfig& config) {
  if (options.max_tokens > 0) {
    require_positions(config, options.max_tokens, "--max-tokens", "give fewer");
    return options.max_tokens;
  }
  const int64_t trained = config.default_tokens();
  const int64_t positions = trained > 0 ? trained : kMostDefaultTokens;
  return static_cast<int32_t>(std::min<int64_t>(positions, kMostDefaultTokens));
}

int64_t bytes_needed(const reuse::PoolNeed& need, const ChosenModel& chosen) {
  const model::ModelConfig& config = chosen.config;
  return need.num_blocks * kv::block_bytes({.layers = config.layers,
                                            .kv_heads = config.kv_heads,
                                            .head_dim = config.head_dim,
                                            .dtype = chosen.kv_dtype,
                                            .block_tokens = need.block_tokens});
}

// Throws Error if a KV budget of `bytes` does not hold one sequence.
void check_budget(int64_t bytes, const reuse::SequenceCache& cache, reuse::EngineLimits limits,
                  const ChosenModel& chosen) {
  limits.max_batch = 1;
  const int64_t least = bytes_needed(cache.pool_need(limits), chosen);
  if (bytes == 0 || bytes >= least) return;
  raise(
      "{} for keys and values (--kv-budget) is too little: one sequence of {} tokens "
      "(--max-tokens){} takes {} B. Give a --kv-budget of that much at least, or a smaller "
      "--max-tokens",
      bytes_text(bytes), limits.max_sequence_tokens,
      limits.prefix_tokens > 0 ? fmt::format(" and {} of prefixes", limits.prefix_tokens) : "",
      least);
}

// The KV budget in bytes of the context's memory; 0: as much as the method needs.
int64_t kv_budget_of(const ServeOptions& options, int64_t needed_bytes, const Context& context) {
  if (!options.kv_budget.empty()) {
    const int64_t bytes = parse_bytes(options.kv_budget, "--kv-budget");
    if (bytes == 0) raise("--kv-budget is 0: give what keys and values may take, such as 2GiB");
    return bytes;
  }
  const int64_t half = available_bytes_for(context) / 2;
  if (half <= 0 || needed_bytes <= half) return 0;
  note(
      "note: --max-batch {} sequences would take {} of keys and values; they get {}, half of the "
      "memory that is free\n",
      options.max_batch, bytes_text(needed_bytes), bytes_text(half));
  return half;
}

struct NamedPrefix {
  std::string name;
  std::vector<int32_t> tokens;
};

std::vector<NamedPrefix> prefixes_of(const ServeOptions& options, const server::ServedModel& model,
                                     const model::ModelConfig& config) {
  std::vector<NamedPrefix> prefixes;
  if (!options.prefix_file.empty()) {
    const std::string text = read_prompt_text(options.prefix_file, config);
    if (text.empty())
      raise("--prefix-file {} is empty: put a text into it, or leave the option out",
            options.prefix_file);
    prefixes.push_back({"--prefix-file", server::text_prefix(model, text)});
    if (prefixes.back().tokens.empty())
      raise(
          "--prefix-file {}: the text is too short for a token that every prompt beginning with "
          "it has: give a longer one, or leave the option out",
          options.prefix_file);
  }
  if (!options.system_file.empty()) {
    std::string system = read_prompt_text(options.system_file, config);
    // A line break at the end of the file is no part of the message.
    if (system.ends_with('\n')) system.pop_back();
    if (system.ends_with('\r')) system.pop_back();
    prefixes.push_back({"--system-prompt-file", server::chat_prefix(model, system)});
  }
  for (const NamedPrefix& prefix : prefixes)
    if (std::ssize(prefix.tokens) > model.max_sequence_tokens)
      raise(
          "{}: the text takes {} tokens, more than a prompt with its answer may have (--max-tokens "
          "{}): give a shorter text, or a larger --max-tokens",
          prefix.name, prefix.tokens.size(), model.max_sequence_tokens);
  return prefixes;
}

// Returns each prefix as one piece, for methods that compute prefixes themselves.
std::vector<methods::Prefix> shared_by_prompts(const std::vector<NamedPrefix>& prefixes) {
  std::vector<methods::Prefix> shared;
  for (const NamedPrefix& prefix : prefixes) shared.push_back({prefix.tokens});
  return shared;
}

// The options of the engine, without swapping and without a budget of bytes.
engine::EngineOptions engine_options(const ServeOptions& options, const ChosenModel& chosen,
                                     int32_t max_tokens, const std::vector<NamedPrefix>& prefixes) {
  engine::EngineOptions made;
  made.limits = {.max_batch = options.max_batch,
                 .max_sequence_tokens = max_tokens,
                 .prefixes = static_cast<int32_t>(std::max<size_t>(prefixes.size(), 1))};
  for (const NamedPrefix& prefix : prefixes)
    made.limits.prefix_tokens += static_cast<int32_t>(prefix.tokens.size());
  made.kv_dtype = chosen.kv_dtype;
  made.step_tokens = options.prefill_chunk;
  made.scheduler = engine::make_scheduler(options.scheduler);
  return made;
}

// Computes all prefixes before the first request is served, unless the method keeps none. Calls
// `between` before each step.
void compute_prefixes(engine::Engine& engine, const std::vector<NamedPrefix>& prefixes,
                      bool are_imported, const std::function<void()>& between) {
  for (const NamedPrefix& prefix : prefixes) {
    engine.declare_prefix(prefix.name, prefix.tokens);
    while (engine.has_work()) {
      between();
      engine::require_served(engine.step().events);
    }
  }
  const bool are_kept = engine.cache().prefix_keeper() != nullptr;
  for (const engine::PrefixInfo& info : engine.prefixes())
    note("{}: {} tokens, {}\n", info.name, info.tokens,
         are_imported ? "imported by requests that begin with them"
         : are_kept   ? bytes_text(info.bytes) + " of keys and values kept"
                      : "not computed at the start: the method keeps no declared prefix");
}

// Lines about the model and its engine.
std::string facts_of(const server::ServedModel& model, const ServeOptions& options,
                     const ChosenModel& chosen, const engine::Engine& engine) {
  const kv::BlockPool& pool = engine.pool();
  const std::string facts =
      fmt::format("{}, method {}, {} for keys and values\n", chosen.dtype_text(),
                  options.model.method, bytes_text(pool.block_bytes() * pool.options().num_blocks));
  return model.chat ? facts : facts + fmt::format("note: no chats: {}\n", model.no_chat);
}

// If the user chose no method, makes the default method keep the prefixes of prompts, as other
// servers do. If sequences of up to `tokens` tokens may have rotary angles that depend on their
// length, equal prefixes have different keys. The default method then shares nothing, and a note
// warns of other methods.
void default_method(const model::ModelConfig& config, int64_t tokens, ServeOptions& options) {
  const model::RotaryConfig& rotary = config.rotary;
  const bool shares_nothing = rotary.depends_on_length() && tokens > rotary.original_max_positions;
  if (!options.has_chosen_method) {
    if (shares_nothing)
      options.model.method = methods::kUnsharedServedMethod;
    else
      options.model.method_options = R"({"reuse_prefill": true, "retain": true})";
  } else if (shares_nothing && options.model.method != methods::kUnsharedServedMethod) {
    note(
        "note: the keys of sequences of more than {} tokens depend on the sequence's length. If "
        "method {} shares tokens of prompts, answers depend on the other prompts; {} shares none\n",
        rotary.original_max_positions, options.model.method, methods::kUnsharedServedMethod);
  }
}

// Throws Error for declared prefixes with --batch-invariant. A declared prefix is stored separately
// and may end within a block, so a sequence that uses the prefix is read in two parts.
void check_batch_invariance(const ServeOptions& options) {
  const std::string& given =
      options.prefix_file.empty() ? options.system_file : options.prefix_file;
  if (options.model.is_batch_invariant && !given.empty())
    raise(
        "{} is not kept with --batch-invariant, because sequences would be read in two parts: "
        "leave "
        "it out; the default method finds and keeps common beginnings by itself",
        given);
}

void generate(ServeOptions options, const CommonOptions& common) try {
  if (!options.for_embedding.empty())
    raise(
        "{}: the model generates text here; leave it out, or give --embeddings for sentence "
        "vectors",
        options.for_embedding.front());
  // Errors in the options are reported before the model is loaded.
  server::ServerOptions serving = server_options(options);
  std::optional<ServeTrace> trace;
  if (!options.trace.empty()) serving.service.observer = &trace.emplace(options.trace);
  if (!options.kv_budget.empty()) (void)parse_bytes(options.kv_budget, "--kv-budget");
  const engine::SwapOptions swap = swap_options(options);
  check_batch_invariance(options);
  Context context = make_context(common);
  context.is_batch_invariant = options.model.is_batch_invariant;
  const ChosenModel chosen = choose_model(options.model, context.device);
  kernels::require_kv_dtype(context, chosen.kv_dtype);
  const int32_t max_sequence_tokens = sequence_tokens(options, chosen.config);
  default_method(chosen.config, max_sequence_tokens, options);
  const auto method = make_chosen_method(options.model, context.device);
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(chosen.place);
  server::ServedModel model = served_model_of(options, chosen, *tokenizer);
  model.max_sequence_tokens = max_sequence_tokens;
  model.most_choices = std::min(model.most_choices, serving.service.most_requests);
  const std::vector<NamedPrefix> prefixes = prefixes_of(options, model, chosen.config);
  context = calibrated(std::move(context), common);
  if (trace && context.device == Device::kCpu) context.operations = &trace->operations();
  const auto decoder = load_chosen(chosen, options.model, context);
  const std::vector<methods::Prefix> shared = shared_by_prompts(prefixes);
  const std::optional<methods::Markup> markup = chosen_markup(options.model, chosen, *tokenizer);
  methods::Setup setup = methods::generation_setup(
      *decoder, context, chosen.kv_dtype, options.prefill_chunk,
      {.device = context.device, .prefixes = shared, .markup = markup ? &*markup : nullptr});
  setup.between = interruption_of(watch_interrupts());
  method->prepare(setup);
  if (markup)
    model.read_markup = [&](const std::string& text) { return method->read(text, "the prompt"); };
  engine::EngineOptions made = engine_options(options, chosen, model.max_sequence_tokens, prefixes);
  auto cache = methods::join(method->parts(), made);
  made.kv_budget_bytes =
      kv_budget_of(options, bytes_needed(cache->pool_need(made.limits), chosen), context);
  check_budget(made.kv_budget_bytes, *cache, made.limits, chosen);
  made.swap = swap;
  engine::Engine engine(context, *decoder, std::move(cache), made);
  compute_prefixes(engine, prefixes, made.shaper != nullptr && made.shaper->imports_prefixes(),
                   setup.between);
  setup.between();
  note("{}\n", weight_memory_text(*decoder));
  run_server(options, model, facts_of(model, options, chosen, engine),
             [&] { return std::make_unique<server::Server>(engine, model, serving); });
  if (trace) trace->finish(fmt::format("serve {}", model.name));
} catch (const Interrupted&) {
  note("interrupted before the server started\n");
  throw ExitStatus{kInterruptedStatus};
}

void run(const ServeOptions& options, const CommonOptions& common) {
  const std::string folder = experiments::resolve_model(options.model.model);
  if (serves_embeddings(options, folder))
    serve_embeddings(options, common, folder);
  else
    generate(options, common);
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = app.add_subcommand("serve", "Serve a model to OpenAI's clients, by HTTP");
  add_serve_options(*command, *options);
  const auto common = add_computing_options(*command);
  command->callback([options, common, command] {
    note_given_options(*command, *options);
    run(*options, *common);
  });
}

}  // namespace reprise::app
