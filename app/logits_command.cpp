// `reprise logits`: prints the raw logits of given tokens, for comparison with other programs.
#include <CLI/CLI.hpp>
#include <bit>
#include <cmath>

#include "app/commands.h"
#include "app/common_options.h"
#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/kept_calibration.h"
#include "app/model_options.h"
#include "app/number_option.h"
#include "app/output.h"
#include "app/token_ids.h"
#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/engine/engine.h"
#include "core/kernels/attention/step_attention.h"
#include "methods/registry.h"

namespace reprise::app {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is little-endian");

struct LogitsCommand {
  ModelOptions model;
  IdOptions ids;
  std::string out, positions;
  CLI::Option* positions_option = nullptr;  // shows whether the option was given
  int32_t chunk = 512;
  bool last = false;
};

std::vector<int32_t> positions_of(const LogitsCommand& command, size_t ids) {
  if (command.positions_option->count() == 0) return {};
  std::vector<int32_t> positions = parse_token_ids(command.positions, "--positions");
  if (positions.size() != ids)
    raise_shape("--positions has {} entries and --ids has {}; give one position for each id",
                positions.size(), ids);
  return positions;
}

// Makes a request that generates nothing and returns the logits after every token or, with --last,
// one that generates one token and returns only the logits after the last token of the ids.
engine::Request request_of(const LogitsCommand& command, const model::ModelConfig& config) {
  engine::Request request;
  request.prompt = read_ids(command.ids, config);
  request.positions = positions_of(command, request.prompt.size());
  if (request.positions.empty()) {
    require_positions(config, std::ssize(request.prompt), "the list of ids", "give fewer");
  } else {
    const int64_t last = *std::max_element(request.positions.begin(), request.positions.end());
    require_positions(config, last + 1, "--positions", "give smaller ones");
    if (command.model.is_batch_invariant && !engine::has_consecutive_positions(request))
      raise(
          "--positions are not consecutive, so --batch-invariant attention would read the tokens "
          "in several parts: give consecutive ones, or leave --batch-invariant out");
  }
  request.max_new_tokens = command.last ? 1 : 0;
  request.logits = command.last ? engine::LogitsMode::kDrawn : engine::LogitsMode::kAll;
  return request;
}

// Counts infinite logits. Throws Error for NaN, as sampling does.
int64_t infinite_logits(const engine::LogitsRow& row) {
  int64_t infinite = 0;
  for (size_t i = 0; i < row.logits.size(); ++i) {
    if (std::isnan(row.logits[i]))
      raise(
          "the model produced NaN as logit of token {}, behind entry {} of the ids: its weights or "
          "inputs are corrupt",
          i, row.token + 1);
    infinite += std::isinf(row.logits[i]) ? 1 : 0;
  }
  return infinite;
}

void write_logits(const LogitsCommand& command, engine::Request request, engine::Engine& engine) {
  const std::atomic<bool>& stop = watch_interrupts();
  // An earlier result stays until this one is complete.
  AtomicFile file(command.out, AtomicFile::Links::kFollow);
  int64_t infinite = 0;
  engine.observe_logits([&](const engine::LogitsRow& row) {
    infinite += infinite_logits(row);
    file.write(std::as_bytes(row.logits));
  });
  engine.submit(std::move(request));
  while (engine.has_work()) {
    engine::require_served(engine.step().events);
    if (stop && engine.has_work()) {
      note("interrupted{}\n",
           file.is_direct() ? "" : fmt::format(": {} is as it was", command.out));
      throw ExitStatus{kInterruptedStatus};
    }
  }
  file.commit();
  if (infinite > 0)
    note("note: {} logits are infinite; the model's weights or inputs may be corrupt\n", infinite);
}

void run(const LogitsCommand& command, const CommonOptions& common) {
  Context context = make_context(common);
  context.is_batch_invariant = command.model.is_batch_invariant;
  const ChosenModel chosen = choose_model(command.model, context.device);
  kernels::require_kv_dtype(context, chosen.kv_dtype);
  engine::Request request = request_of(command, chosen.config);
  const size_t rows = command.last ? 1 : request.prompt.size();
  const auto method = make_chosen_method(command.model, context.device);
  context = calibrated(std::move(context), common);
  const auto decoder = load_chosen(chosen, command.model, context);
  engine::EngineOptions options;
  options.limits.max_sequence_tokens = static_cast<int32_t>(request.prompt.size()) + 1;
  options.kv_dtype = chosen.kv_dtype;
  options.step_tokens = command.chunk;
  method->prepare(methods::generation_setup(*decoder, context, chosen.kv_dtype, command.chunk,
                                            {.device = context.device}));
  auto cache = methods::join(method->parts(), options);
  engine::Engine engine(context, *decoder, std::move(cache), options);
  write_logits(command, std::move(request), engine);
  note("wrote f32 [{}, {}] to {}, {}; {}\n", rows, chosen.config.vocab, command.out,
       chosen.dtype_text(), weight_memory_text(*decoder));
}

}  // namespace

void add_logits_command(CLI::App& app) {
  auto options = std::make_shared<LogitsCommand>();
  CLI::App* command = app.add_subcommand(
      "logits", "Write the logits of given tokens to a file: f32 [tokens, vocab], little-endian");
  add_model_options(*command, "--seed", options->model);
  add_batch_invariant_option(*command, options->model);
  add_id_options(*command, "token ids: 3,4,5", options->ids);
  command->add_option("--out", options->out, "file to write")->required()->check(not_empty());
  options->positions_option = command->add_option("--positions", options->positions,
                                                  "a position for each id (default: 0, 1, 2, ...)");
  command->add_option("--chunk", options->chunk, "most tokens in one step (default: 512)")
      ->check(integer_within(1, int64_t{1} << 20));
  command->add_flag("--last", options->last, "logits of the last token alone: f32 [1, vocab]");
  const auto common = add_computing_options(*command);
  command->callback([options, common] { run(*options, *common); });
}

}  // namespace reprise::app
