// `reprise logits`: the raw logits of given tokens, for comparison with other programs.
#include <CLI/CLI.hpp>
#include <bit>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/common_options.h"
#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/engine/engine.h"
#include "core/model/network/decoder.h"
#include "experiments/kinds/bench.h"
#include "methods/registry.h"

namespace reprise::app {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

struct LogitsCommand {
  std::string model, out, method = "contiguous", dtype = "f32", kv_dtype;
  std::vector<int32_t> ids, positions;
  int32_t chunk = 512;
  bool last = false, random_weights = false;
  uint64_t seed = 1;
};

void check(const LogitsCommand& command) {
  if (command.ids.empty()) raise("--ids is empty; give token ids such as --ids 3,4,5");
  if (command.chunk < 1) raise("--chunk is {}, it must be at least 1", command.chunk);
  if (!command.positions.empty() && command.positions.size() != command.ids.size())
    raise_shape("--positions has {} entries and --ids has {}; give one position for each id",
                command.positions.size(), command.ids.size());
}

engine::EngineOptions options_of(const LogitsCommand& command, const model::Decoder& decoder) {
  engine::EngineOptions options;
  options.limits.max_sequence_tokens = static_cast<int32_t>(command.ids.size()) + 1;
  options.kv_dtype = command.kv_dtype.empty() ? decoder.dtype() : parse_dtype(command.kv_dtype);
  options.step_tokens = command.chunk;
  return options;
}

// A request that generates nothing: logits of every token, or those after the last.
engine::Request request_of(const LogitsCommand& command) {
  engine::Request request;
  request.prompt = command.ids;
  request.positions = command.positions;
  request.max_new_tokens = command.last ? 1 : 0;
  request.logits = command.last ? engine::LogitsMode::kDrawn : engine::LogitsMode::kAll;
  return request;
}

void write_logits(const LogitsCommand& command, engine::Engine& engine) {
  AtomicFile file(command.out);  // an earlier result stays until this one is whole
  engine.observe_logits(
      [&](const engine::LogitsRow& row) { file.write(std::as_bytes(row.logits)); });
  engine.submit(request_of(command));
  engine::require_served(engine.run());
  file.commit();
}

void run(const LogitsCommand& command, const CommonOptions& common) {
  check(command);
  const Context context = make_context(common);
  const auto decoder = model::load_decoder(experiments::resolve_path(command.model),
                                           {.dtype = parse_dtype(command.dtype),
                                            .random_weights = command.random_weights,
                                            .seed = command.seed},
                                           context);
  engine::Engine engine(context, *decoder, methods::make_method(command.method, Json()),
                        options_of(command, *decoder));
  write_logits(command, engine);
  std::fprintf(stderr, "wrote f32 [%zu, %lld] to %s\n",
               command.last ? size_t{1} : command.ids.size(),
               static_cast<long long>(decoder->config().vocab), command.out.c_str());
}

}  // namespace

void add_logits_command(CLI::App& app) {
  auto options = std::make_shared<LogitsCommand>();
  CLI::App* command = app.add_subcommand(
      "logits", "Write the logits of given tokens to a file: f32 [tokens, vocab], little-endian");
  command
      ->add_option("--model", options->model,
                   "folder of a checkpoint, or the name of a shipped shape")
      ->required();
  command->add_option("--ids", options->ids, "token ids: 3,4,5")->required()->delimiter(',');
  command->add_option("--out", options->out, "file to write")->required();
  command
      ->add_option("--positions", options->positions,
                   "a position for each id (default: 0, 1, 2, ...)")
      ->delimiter(',');
  command->add_option("--method", options->method, "reuse method (default: contiguous)");
  command->add_option("--dtype", options->dtype,
                      "of weights and activations: f32 or bf16 (default: f32)");
  command->add_option("--kv-dtype", options->kv_dtype,
                      "of cached keys and values (default: as --dtype)");
  command->add_option("--chunk", options->chunk, "most tokens in one step (default: 512)");
  command->add_flag("--last", options->last, "logits of the last token alone: f32 [1, vocab]");
  command->add_flag("--random-weights", options->random_weights,
                    "make weights instead of loading them");
  command->add_option("--seed", options->seed, "of random weights (default: 1)");
  const auto common = add_common_options(*command);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
