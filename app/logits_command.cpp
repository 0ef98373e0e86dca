// `reprise logits`: the raw logits of given tokens, for comparison with other programs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/commands.h"
#include "app/common_options.h"
#include "core/base/error.h"
#include "core/kv/block_pool.h"
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

// The engine's step without its scheduler: one sequence, chunk by chunk, logits of every row.
class Prefill {
 public:
  Prefill(const LogitsCommand& command, model::Decoder& decoder, engine::Request request)
      : decoder_(decoder),
        request_(std::move(request)),
        method_(methods::make_method(command.method, Json())),
        pool_(pool_options(command, decoder, *method_, request_)) {
    if (request_.positions.empty()) {
      request_.positions.resize(request_.prompt.size());
      std::iota(request_.positions.begin(), request_.positions.end(), 0);
    }
    if (!method_
             ->admit({.id = request_.id,
                      .tokens = request_.prompt,
                      .positions = request_.positions,
                      .max_new_tokens = request_.max_new_tokens},
                     pool_)
             .admitted)
      raise("method {} has no room for {} tokens", command.method, request_.prompt.size());
  }
  ~Prefill() { method_->retire(request_.id, pool_); }
  Prefill(const Prefill&) = delete;
  Prefill& operator=(const Prefill&) = delete;

  // Runs tokens [first, end); logits of the rows in `wanted` go to `out` [wanted, vocab].
  void run(int32_t first, int32_t end, const std::vector<int32_t>& wanted, std::span<float> out) {
    const reuse::StepSequence sequence{
        .id = request_.id,
        .first_row = 0,
        .rows = end - first,
        .first_token = first,
        .positions = request_.positions};  // all, as the engine: dynamic scaling looks ahead
    method_->plan({&sequence, 1}, pool_, plan_);
    decoder_.forward(
        {.ids = std::span(request_.prompt)
                    .subspan(static_cast<size_t>(first), static_cast<size_t>(end - first)),
         .plan = plan_,
         .logit_rows = wanted},
        {.logits = out});
  }

 private:
  static kv::BlockPoolOptions pool_options(const LogitsCommand& command,
                                           const model::Decoder& decoder,
                                           const reuse::ReuseMethod& method,
                                           const engine::Request& request) {
    const model::ModelConfig& config = decoder.config();
    const reuse::PoolNeed need = method.pool_need(
        {.max_batch = 1, .max_sequence_tokens = static_cast<int32_t>(request.prompt.size()) + 1});
    return {.layers = config.layers,
            .kv_heads = config.kv_heads,
            .head_dim = config.head_dim,
            .dtype = command.kv_dtype.empty() ? decoder.dtype() : parse_dtype(command.kv_dtype),
            .block_tokens = need.block_tokens,
            .num_blocks = need.num_blocks};
  }

  model::Decoder& decoder_;
  engine::Request request_;
  std::unique_ptr<reuse::ReuseMethod> method_;
  kv::BlockPool pool_;
  kv::AttentionPlan plan_;
};

void write_logits(const LogitsCommand& command, Prefill& prefill, int64_t vocab) {
  std::ofstream file(command.out, std::ios::binary | std::ios::trunc);
  if (!file) raise("cannot write {}; choose another --out", command.out);
  const auto tokens = static_cast<int32_t>(command.ids.size());
  std::vector<float> logits;
  for (int32_t first = 0; first < tokens; first += command.chunk) {
    const int32_t end = std::min(tokens, first + command.chunk);
    std::vector<int32_t> wanted(static_cast<size_t>(end - first));
    std::iota(wanted.begin(), wanted.end(), 0);
    if (command.last)
      wanted = end == tokens ? std::vector{end - first - 1} : std::vector<int32_t>{};
    logits.resize(wanted.size() * static_cast<size_t>(vocab));
    prefill.run(first, end, wanted, logits);
    file.write(reinterpret_cast<const char*>(logits.data()),
               static_cast<std::streamsize>(logits.size() * sizeof(float)));
  }
  file.flush();
  if (!file) raise("writing {} failed; is the disk full?", command.out);
}

void run(const LogitsCommand& command, const CommonOptions& common) {
  check(command);
  const Context context = make_context(common);
  const auto decoder = model::load_decoder(experiments::resolve_path(command.model),
                                           {.dtype = parse_dtype(command.dtype),
                                            .random_weights = command.random_weights,
                                            .seed = command.seed},
                                           context);
  engine::Request request;
  request.prompt = command.ids;
  request.positions = command.positions;
  Prefill prefill(command, *decoder, std::move(request));
  write_logits(command, prefill, decoder->config().vocab);
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
