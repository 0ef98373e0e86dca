// `reprise pml run`: generates from a prompt whose modules are encoded once, and splits the time to
// first token into its parts.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/generation.h"
#include "app/interrupt.h"
#include "app/kept_calibration.h"
#include "app/model_options.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/pml_files.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/kernels/attention/step_attention.h"
#include "core/model/checkpoint/fingerprint.h"
#include "experiments/kinds/shared/bench.h"
#include "methods/prompt_cache/module_shaper.h"
#include "methods/registry.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using results::short_number;
namespace cache = prompt_cache;

struct PmlRunCommand {
  PmlFiles files;
  ModelOptions model;
  std::string mode;                    // "": by the rules of the files
  std::optional<double> repair_ratio;  // of mode repair alone
  bool copies = false;
  std::string store;
  bool verifies_weights = false;
  std::string no_cache;  // "": with the cache; otherwise how positions are assigned
  GenerationOptions generation;
};

cache::PromptCacheOptions cache_options(const PmlRunCommand& command) {
  cache::PromptCacheOptions options;
  options.mode = !command.mode.empty()       ? command.mode
                 : command.files.is_as_coded ? cache::name_of(cache::Mode::kJoint)
                                             : cache::name_of(cache::Mode::kScaffold);
  options.repair_ratio = command.repair_ratio.value_or(options.repair_ratio);
  options.copies = command.copies;
  return options;
}

// Fingerprint of the model whose states a folder keeps. The fingerprint also says which part of the
// weights was hashed.
std::string model_fingerprint(const PmlRunCommand& command, const ChosenModel& chosen) {
  if (command.model.random_weights)
    return model::fingerprint_of_random(
        read_file(std::filesystem::path(chosen.place) / "config.json"), command.model.weights_seed);
  model::KeptHashes kept(std::filesystem::path(command.store) / "weights.json");
  const model::Fingerprint fingerprint = model::fingerprint_of(
      chosen.place, command.verifies_weights ? model::Coverage::kWhole : model::Coverage::kSamples,
      &kept);
  note("store: states of model {}, which covers {}\n", fingerprint.text, fingerprint.coverage());
  return fingerprint.text;
}

// States kept only in memory belong to this run's model and need no identity.
kv::StoreIdentity identity_of(const PmlRunCommand& command, const ChosenModel& chosen) {
  if (command.store.empty()) return {};
  return {.model = model_fingerprint(command, chosen),
          .tokenizer = model::tokenizer_fingerprint_of(chosen.place),
          .schema = "",
          .dtype = ""};
}

std::string ms(double seconds) { return short_number(seconds * 1e3); }

// `reason` is that of EncodeReport::unwritten.
void note_unwritten(const std::string& reason) {
  if (!reason.empty()) note("note: modules are not kept for later runs: {}\n", reason);
}

void note_encoded(const cache::EncodeReport& report, const cache::Encoding& encoding,
                  const std::string& mode) {
  if (encoding.units.empty())
    note("modules: the schema has no text whose states are kept\n");
  else if (report.passes == 0)
    note("modules: all {} states were in the store\n", mode);
  else
    note("modules: {} states of {} segments computed in {} ms ({} tokens in {} passes)\n", mode,
         report.units, ms(report.compute_s), report.tokens, report.passes);
  note_unwritten(report.unwritten);
}

// Generates the answer. If a module's file is found damaged, which is before the first token,
// starts again. `shaper` is null if nothing is imported.
Generation generate_from(cache::ModuleShaper* shaper, engine::Engine& engine,
                         const engine::Request& request, TokenPrinter& printer,
                         const std::atomic<bool>& stop) {
  try {
    return generate(engine, request, printer, stop);
  } catch (const Error& error) {
    const int32_t dropped = shaper != nullptr ? shaper->drop_damaged() : 0;
    if (dropped == 0) throw;
    note("note: {} Damaged modules, computed anew: {}.\n", error.what(), dropped);
  }
  engine.cancel(request.id);
  (void)engine.run();  // reports the end, so that the id can be used again
  return generate(engine, request, printer, stop);
}

void note_ttft(const cache::ModuleUse& use, const Generation& outcome) {
  if (outcome.tokens == 0) return;
  const cache::PrepareTimes& times = use.times;
  const double before_s = times.lookup_s + times.encode_s + times.repair_s + times.copy_s;
  const double ttft_s = outcome.ttft_ms() * 1e-3;
  std::string parts = fmt::format("lookup {}", ms(times.lookup_s));
  if (times.encode_s > 0) parts += fmt::format(", encoding {}", ms(times.encode_s));
  if (use.repaired_tokens > 0)
    parts += fmt::format(", repair of {} tokens {}", use.repaired_tokens, ms(times.repair_s));
  parts += fmt::format(", copy {} ({} bytes), compute {}", ms(times.copy_s), use.copied_bytes,
                       ms(ttft_s - before_s));
  note("TTFT {} ms: {}\n", ms(ttft_s), parts);
  if (outcome.tokens > 1) note("TPOT {} ms\n", short_number(outcome.tpot_ms()));
}

void run(const PmlRunCommand& command, const CommonOptions& common) {
  if (command.repair_ratio && command.mode != cache::name_of(cache::Mode::kRepair))
    raise("--repair-share: nothing is repaired; give --mode repair too");
  Context context = make_context(common);
  const ChosenModel chosen = choose_model(command.model, context.device);
  kernels::require_kv_dtype(context, chosen.kv_dtype);
  const auto method = make_chosen_method(command.model, context.device);
  if (!method->info().is_cache)
    raise(
        "method \"{}\" does not run here: it is no cache, and pml run needs one for what is not "
        "imported",
        command.model.method);
  auto cache = method->parts().cache;
  PmlFiles files = command.files;
  files.model = command.model.model;
  const CompiledPml compiled = compile(files);
  context = calibrated(std::move(context), common);
  const auto decoder = load_chosen(chosen, command.model, context);
  methods::require_head(decoder->config());

  engine::EngineOptions options;
  options.kv_dtype = chosen.kv_dtype;
  options.step_tokens = command.generation.prefill_chunk;
  options.clock_ns = experiments::now_ns;
  engine::Request request;
  std::shared_ptr<cache::ModuleShaper> shaper;  // null: the whole prompt is computed
  if (command.no_cache.empty()) {
    const cache::PromptCacheOptions of_cache = cache_options(command);
    std::vector<cache::SharedSchema> schemas;
    schemas.push_back({.schema = compiled.schema});
    shaper = std::make_shared<cache::ModuleShaper>(
        of_cache, std::move(schemas), *decoder, context,
        cache::EncodeOptions{.kv_dtype = chosen.kv_dtype, .step_tokens = options.step_tokens},
        command.store, identity_of(command, chosen));
    note_encoded(shaper->encoded(),
                 cache::encoding_of(compiled.schema, cache::mode_named(of_cache.mode)),
                 of_cache.mode);
    request = cache::derived_request(compiled.schema, *compiled.prompt);
    options.shaper = shaper;
    options.contributors = {shaper->imports()};
    options.policy = std::make_shared<cache::ReadyLayers>(shaper->imports());
  } else {
    cache::place(
        {.fresh = cache::whole_prompt(compiled.schema, *compiled.prompt,
                                      command.no_cache == "compact" ? cache::Positions::kCompact
                                                                    : cache::Positions::kGapped)},
        request);
  }
  const auto computed = static_cast<int64_t>(shaper != nullptr ? compiled.prompt->new_tokens
                                                               : std::ssize(request.prompt));
  complete(request, command.generation, chosen.config,
           shaper != nullptr ? compiled.prompt->end : engine::prompt_end(request));
  options.limits.max_sequence_tokens = static_cast<int32_t>(computed) + request.max_new_tokens;
  engine::Engine engine(context, *decoder, std::move(cache), options);
  TokenPrinter printer = output_printer(compiled.tokenizer->stream(), tokenizer::StopText({}));
  const std::atomic<bool>& stop = watch_interrupts();
  const Generation outcome = generate_from(shaper.get(), engine, request, printer, stop);
  const cache::ModuleUse use = shaper != nullptr ? shaper->use() : cache::ModuleUse{};
  note("\n{} tokens imported, {} computed, {} generated, stopped by {}\n", use.latest_tokens,
       computed, outcome.tokens, reason_text(outcome, ""));
  note_unwritten(use.unwritten);
  note_ttft(use, outcome);
  note("{}\n", chosen.dtype_text());
  if (stop) throw ExitStatus{kInterruptedStatus};
}

}  // namespace

void add_pml_run(CLI::App& pml) {
  auto options = std::make_shared<PmlRunCommand>();
  CLI::App* command = pml.add_subcommand(
      "run", "Generate from a prompt whose modules are encoded once and used in place");
  add_pml_files(*command, options->files, /*needs_prompt=*/true);
  add_model_options(*command, "--weights-seed", options->model);
  CLI::Option* mode =
      command
          ->add_option(
              "--mode", options->mode,
              "how modules are encoded: isolated (each sees itself), joint (each sees what "
              "stands before it in the schema), scaffold (isolated, and sets together), "
              "repair (isolated, and the farthest tokens anew) (default: scaffold, with "
              "--as-coded joint)")
          ->check(one_of("mode", cache::mode_names()));
  CLI::Option* repair_share = command
                                  ->add_option("--repair-share", options->repair_ratio,
                                               "with --mode repair: of the imported tokens, those "
                                               "to be computed anew (default: 0.15)")
                                  ->check(number_within(0, 1));
  CLI::Option* copy = command->add_flag(
      "--copy", options->copies, "gather what is imported in one buffer first, as the paper does");
  CLI::Option* store =
      command
          ->add_option("--store", options->store,
                       "folder that keeps modules for later runs (default: memory)")
          ->check(not_empty());
  command
      ->add_flag(
          "--verify", options->verifies_weights,
          "tell models apart by every byte of their weights (default: of files above 64 MiB, "
          "by samples of each tensor); once for each file, unless it changes")
      ->needs(store);
  command
      ->add_option("--no-cache", options->no_cache,
                   "compute the whole prompt: gapped (positions of the schema) or compact")
      ->check(one_of("layout", {"gapped", "compact"}))
      ->excludes(mode, repair_share, copy, store);
  add_generation_options(*command, options->generation);
  const auto common = add_computing_options(*command);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
