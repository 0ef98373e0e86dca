// `reprise pml run`: generates from a prompt whose modules are encoded once, with the time to the
// first token split into its parts.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/generation.h"
#include "app/interrupt.h"
#include "app/model_options.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/pml_files.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/model/checkpoint/fingerprint.h"
#include "experiments/kinds/shared/bench.h"
#include "methods/prompt_cache/prompt_cache.h"
#include "results/table.h"

namespace reprise::app {
namespace {

using results::short_number;
namespace cache = prompt_cache;

struct PmlRunCommand {
  PmlFiles files;
  ModelOptions model;
  std::string mode;  // "": by the rules of the files
  double repair_ratio = cache::PrepareOptions{}.repair_ratio;
  bool copies = false;
  std::string store;
  bool verifies_weights = false;
  std::string no_cache;  // "": with the cache; else how positions are given
  GenerationOptions generation;
};

cache::Mode mode_of(const PmlRunCommand& command) {
  if (!command.mode.empty()) return cache::mode_named(command.mode);
  return command.files.is_as_coded ? cache::Mode::kJoint : cache::Mode::kScaffold;
}

// The fingerprint of the model whose states a folder keeps; tells what of the weights it covers.
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

// States in memory alone are of this run's model and need no identity.
kv::StoreIdentity identity_of(const PmlRunCommand& command, const ChosenModel& chosen) {
  if (command.store.empty()) return {};
  return {.model = model_fingerprint(command, chosen),
          .tokenizer = model::tokenizer_fingerprint_of(chosen.place),
          .schema = "",
          .dtype = ""};
}

// All of the schema's states fit into memory, or lie in the folder and are read from there.
kv::SegmentStoreOptions store_options(const PmlRunCommand& command, const ChosenModel& chosen,
                                      const pml::CompiledSchema& schema,
                                      std::shared_ptr<DeviceRuntime> runtime) {
  if (!command.store.empty()) return {.directory = command.store, .verify = kv::Verify::kHeader};
  const int64_t bytes = cache::state_bytes(cache::encoding_of(schema, mode_of(command)),
                                           chosen.config, chosen.kv_dtype);
  return {.host_bytes = std::max<int64_t>(bytes, 1), .runtime = std::move(runtime)};
}

std::string ms(double seconds) { return short_number(seconds * 1e3); }

void note_encoded(const cache::EncodeReport& report, const std::string& mode) {
  if (report.passes == 0)
    note("modules: all {} states were in the store\n", mode);
  else
    note("modules: {} states of {} segments computed in {} ms ({} tokens in {} passes)\n", mode,
         report.units, ms(report.compute_s), report.tokens, report.passes);
}

void note_ttft(const cache::PreparedPrompt& prompt, const Generation& outcome) {
  if (outcome.tokens == 0) return;
  const cache::PrepareTimes& times = prompt.times;
  const double compute_s = outcome.ttft_ms() * 1e-3;
  const double before_s = times.lookup_s + times.encode_s + times.repair_s + times.copy_s;
  std::string parts = fmt::format("lookup {}", ms(times.lookup_s));
  if (times.encode_s > 0) parts += fmt::format(", encoding {}", ms(times.encode_s));
  if (prompt.repaired_tokens > 0)
    parts += fmt::format(", repair of {} tokens {}", prompt.repaired_tokens, ms(times.repair_s));
  parts += fmt::format(", copy {} ({} bytes), compute {}", ms(times.copy_s), prompt.copied_bytes,
                       ms(compute_s));
  note("TTFT {} ms: {}\n", ms(before_s + compute_s), parts);
  if (outcome.tokens > 1) note("TPOT {} ms\n", short_number(outcome.tpot_ms()));
}

void run(const PmlRunCommand& command, const CommonOptions& common) {
  const Context context = make_context(common);
  const ChosenModel chosen = choose_model(command.model, context.device);
  const auto method = make_chosen_method(command.model, context.device);
  if (!method->info().is_cache)
    raise("--method {} is no cache, and pml run needs one for what is not imported: take another",
          command.model.method);
  auto cache = method->parts().cache;
  PmlFiles files = command.files;
  files.model = command.model.model;
  const CompiledPml compiled = compile(files);
  const bool is_cached = command.no_cache.empty();
  const auto decoder = load_chosen(chosen, command.model, context);

  kv::SegmentStore store(store_options(command, chosen, compiled.schema, decoder->runtime()));
  cache::ModuleStates states(
      *decoder, store, compiled.schema, mode_of(command), identity_of(command, chosen),
      {.kv_dtype = chosen.kv_dtype, .step_tokens = command.generation.prefill_chunk});
  cache::PreparedPrompt prompt;
  if (is_cached) {
    note_encoded(states.encode(), cache::name_of(states.mode()));
    prompt =
        cache::prepare(states, *decoder, *compiled.prompt,
                       {.repair_ratio = command.repair_ratio, .copies = command.copies}, context);
  } else {
    prompt.fresh = cache::whole_prompt(
        compiled.schema, *compiled.prompt,
        command.no_cache == "compact" ? cache::Positions::kCompact : cache::Positions::kGapped);
  }

  const auto imports = std::make_shared<cache::ModuleImports>();
  engine::Request request = cache::request_of(prompt, 0, 1);
  const int64_t length =
      is_cached ? compiled.prompt->end : prompt.fresh.positions.back() + int64_t{1};
  complete(request, command.generation, chosen.config, length);
  imports->attach(request.id, prompt.runs);
  engine::EngineOptions options;
  options.limits.max_sequence_tokens =
      static_cast<int32_t>(prompt.fresh.tokens.size()) + request.max_new_tokens;
  options.kv_dtype = chosen.kv_dtype;
  options.step_tokens = command.generation.prefill_chunk;
  options.contributors = {imports};
  options.policy = std::make_shared<cache::ReadyLayers>(imports);
  options.clock_ns = experiments::now_ns;
  engine::Engine engine(context, *decoder, std::move(cache), options);
  TokenPrinter printer = output_printer(compiled.tokenizer->stream(), tokenizer::StopText({}));
  const std::atomic<bool>& stop = watch_interrupts();
  const Generation outcome = generate(engine, std::move(request), printer, stop);
  note("\n{} tokens imported, {} computed, {} generated, stopped by {}\n", prompt.imported_tokens,
       prompt.fresh.tokens.size(), outcome.tokens, reason_text(outcome, ""));
  note_ttft(prompt, outcome);
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
  command
      ->add_option("--mode", options->mode,
                   "how modules are encoded: isolated (each sees itself), joint (each sees what "
                   "stands before it in the schema), scaffold (isolated, and sets together), "
                   "repair (isolated, and the farthest tokens anew) (default: scaffold, with "
                   "--as-coded joint)")
      ->check(one_of("mode", cache::mode_names()));
  command
      ->add_option("--repair-share", options->repair_ratio,
                   "of the imported tokens, those that repair computes anew (default: 0.15)")
      ->check(number_within(0, 1));
  command->add_flag("--copy", options->copies,
                    "gather what is imported in one buffer first, as the paper does");
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
      ->check(one_of("layout", {"gapped", "compact"}));
  add_generation_options(*command, options->generation);
  const auto common = add_common_options(*command);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
