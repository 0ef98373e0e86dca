#include "experiments/kinds/shared/bench.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/problems.h"
#include "core/device/buffer.h"
#include "core/device/memory.h"
#include "core/kernels/attention/step_attention.h"
#include "core/kernels/calibration/calibration.h"
#include "core/tokenizer/tokenizer.h"
#include "experiments/kinds/shared/costs.h"
#include "experiments/kinds/shared/method_report.h"
#include "methods/registry.h"
#include "results/hash.h"
#include "results/statistics.h"
#include "workloads/registry.h"

namespace reprise::experiments {
namespace {

model::LoadOptions load_options(const Group& group) {
  return {.dtype = group.dtype,
          .weight_format = group.model.weight_format,
          .random_weights = group.model.random_weights,
          .seed = group.seeds.weights};
}

// Cuts `tokens` into `count` pieces of equal length; if they do not divide evenly, the first pieces
// get one token more.
methods::Prefix split_evenly(const std::vector<int32_t>& tokens, int64_t count) {
  methods::Prefix pieces;
  auto at = tokens.begin();
  for (int64_t left = count; left > 0; --left) {
    const int64_t size = (tokens.end() - at + left - 1) / left;
    pieces.emplace_back(at, at + size);
    at += size;
  }
  return pieces;
}

// Returns one prefix of `count` pieces; none if there are no tokens.
std::vector<methods::Prefix> pieces_of(const std::vector<int32_t>& tokens, int64_t count) {
  if (tokens.empty()) return {};
  return {split_evenly(tokens, count)};
}

methods::Use use_of(const std::vector<methods::Prefix>& prefixes, Device device) {
  return {.device = device, .prefixes = prefixes, .always_has_prefix = !prefixes.empty()};
}

int64_t kept_tokens(const Group& group, const RequestAxes& axes, int64_t sequences,
                    bool take_turns) {
  const std::vector<int32_t> shared(static_cast<size_t>(axes.shared_tokens));
  const std::vector<methods::Prefix> prefixes = pieces_of(shared, axes.modules);
  const int64_t whole = axes.prompt_tokens + axes.new_tokens;
  int64_t all = 0, most = 0;
  for (const MethodChoice& method : group.methods) {
    methods::Use use = use_of(prefixes, Device::kCpu);
    use.requests = sequences;
    const int64_t held = methods::make_method(method.name, method.options)->held_tokens(use);
    const int64_t cached = held > 0 ? whole - axes.shared_tokens : whole;
    all += held + cached * sequences;
    most = std::max(most, held + cached * sequences);
  }
  return take_turns ? all : most;
}

}  // namespace

int64_t now_ns() { return steady_now_ns(); }

void Bench::use_calibration(const Machine& machine) {
  context_ = kernels::with_calibration(context_, machine);
}

void Bench::record_operations(OperationLog& log) {
  if (context_.device == Device::kCpu) context_.operations = &log;
}

model::ModelConfig Bench::config(const Group& group) {
  return model::load_config(resolve_model(group.model.model));
}

std::string Bench::held_model(const Group& group) {
  return fmt::format("{} {} {} {} {}", group.model.model, group.model.random_weights,
                     name_of(group.dtype), name_of(group.weight_type().format),
                     group.seeds.weights);
}

model::Decoder& Bench::decoder(const Group& group) {
  const std::string wanted = held_model(group);
  if (decoder_ == nullptr || loaded_ != wanted) {
    decoder_.reset();
    decoder_ = model::load_decoder(resolve_model(group.model.model), load_options(group), context_);
    loaded_ = wanted;
  }
  return *decoder_;
}

std::vector<Bench::Lane> Bench::make_lanes(const Group& group, const RequestAxes& axes,
                                           int64_t max_batch, const std::atomic<bool>& stop) {
  AlignedBuffer::reset_peak();
  std::vector<Lane> lanes;
  for (const MethodChoice& method : group.methods) {
    if (stop) throw Interrupted{};
    lanes.push_back(make_lane(group, axes, method, max_batch));
  }
  return lanes;
}

Bench::Lane Bench::make_lane(const Group& group, const RequestAxes& axes,
                             const MethodChoice& method, int64_t max_batch) {
  Lane lane{.method = methods::make_method(method.name, method.options)};
  const std::vector<methods::Prefix> prefixes = pieces_of(prefix(group, axes), axes.modules);
  const methods::Setup setup = setup_of(group, axes, use_of(prefixes, context_.device));
  const int64_t begin_ns = now_ns();
  lane.method->prepare(setup);
  const int64_t end_ns = now_ns();
  const int64_t tokens = axes.prompt_tokens + axes.new_tokens;
  lane.engine = make_engine(group, axes, *lane.method,
                            {.max_batch = static_cast<int32_t>(max_batch),
                             .max_sequence_tokens = static_cast<int32_t>(tokens),
                             .prefix_tokens = static_cast<int32_t>(axes.shared_tokens)});
  lane.prefix_ms = declare_prefix(*lane.engine, group, axes);
  if (imports_prefixes(*lane.engine)) lane.prefix_ms += ms_of(end_ns - begin_ns);
  return lane;
}

bool imports_prefixes(const engine::Engine& engine) {
  const auto& shaper = engine.options().shaper;
  return shaper != nullptr && shaper->imports_prefixes();
}

std::unique_ptr<engine::Engine> Bench::make_engine(const Group& group, const StepAxes& axes,
                                                   methods::Method& method,
                                                   const reuse::EngineLimits& limits) {
  engine::EngineOptions options;
  options.limits = limits;
  options.kv_dtype = group.kv_dtype;
  options.step_tokens = static_cast<int32_t>(axes.prefill_chunk);
  // Prompts are computed first, so that decode steps can be measured by themselves.
  options.scheduler = engine::make_scheduler("prefill_first");
  options.clock_ns = now_ns;
  auto cache = methods::join(method.parts(), options);
  return std::make_unique<engine::Engine>(context_, decoder(group), std::move(cache), options);
}

methods::Setup Bench::setup_of(const Group& group, const StepAxes& axes, const methods::Use& use) {
  methods::Setup setup = methods::generation_setup(decoder(group), context_, group.kv_dtype,
                                                   static_cast<int32_t>(axes.prefill_chunk), use);
  setup.seed = group.seeds.weights;
  setup.use.has_turns = has_turns_;
  return setup;
}

std::vector<int32_t> Bench::prefix(const Group& group, const PromptAxes& axes) {
  constexpr int64_t kPrefixItem = -1;  // requests count from 0
  return draw(group, kPrefixItem, axes.shared_tokens);
}

std::vector<int32_t> Bench::prompt(const Group& group, const PromptAxes& axes, int64_t request) {
  std::vector<int32_t> ids = prefix(group, axes);
  const std::vector<int32_t> own = draw(group, request, axes.prompt_tokens - axes.shared_tokens);
  ids.insert(ids.end(), own.begin(), own.end());
  return ids;
}

double Bench::declare_prefix(engine::Engine& engine, const Group& group, const PromptAxes& axes) {
  if (axes.shared_tokens == 0) return 0;
  std::vector<int32_t> tokens = prefix(group, axes);
  const int64_t begin_ns = now_ns();
  engine.declare_prefix("shared_tokens", std::move(tokens));
  engine::require_served(engine.run());
  return ms_of(now_ns() - begin_ns);
}

std::vector<int32_t> Bench::draw(const Group& group, int64_t item, int64_t tokens) {
  return workload(group).prompt(item, tokens);
}

workloads::Workload& Bench::workload(const Group& group) {
  const std::string wanted = fmt::format("{} {} {} {}", group.model.model, group.workload.name,
                                         group.workload.file, group.seeds.prompts);
  if (workload_ == nullptr || drawn_from_ != wanted) {
    const auto tokenizer = [&]() -> std::shared_ptr<const Tokenizer> {
      return load_tokenizer(resolve_model(group.model.model));
    };
    const std::string file = group.workload.file.empty() ? "" : resolve_path(group.workload.file);
    workload_ = workloads::make_workload(group.workload.name, {.file = file,
                                                               .vocab = config(group).vocab,
                                                               .seed = group.seeds.prompts,
                                                               .tokenizer = tokenizer});
    drawn_from_ = wanted;
  }
  return *workload_;
}

void Bench::check_once(const std::string& what, const std::function<void()>& step) {
  const auto [place, is_new] = checked_.try_emplace(what);
  if (is_new) {
    try {
      step();
    } catch (const Error& error) {
      place->second = error.what();
    }
  }
  if (!place->second.empty()) throw Error(place->second);
}

model::ModelConfig Bench::check_loadable(const Group& group, const Context& context) {
  return model::check_loadable(resolve_model(group.model.model), load_options(group), context);
}

void Bench::check_model(const Group& group) {
  Problems problems;
  problems.collect([&] { kernels::require_kv_dtype(context_, group.kv_dtype); });
  problems.collect([&] {
    check_once(fmt::format("load {} {} {} {}", group.model.model, group.model.random_weights,
                           name_of(group.dtype), name_of(group.weight_type().format)),
               [&] { methods::require_head(check_loadable(group, context_)); });
  });
  problems.raise_if_any();
}

void Bench::check(const Group& group, const RequestAxes& axes) {
  const std::string& model = group.model.model;
  Problems problems;
  // A model that is missing must not hide a file that is missing, too.
  problems.collect([&] { (void)resolve_path(group.workload.file); });
  problems.collect([&] {
    (void)config(group);  // throws if the model is missing; then nothing else is checked here
    problems.collect([&] { check_model(group); });
    problems.collect([&] { check_prompts(group, axes); });
    problems.collect([&] {
      check_once(fmt::format("draw {} {} {}", model, group.workload.name, group.workload.file),
                 [&] { (void)workload(group); });
    });
  });
  for (const MethodChoice& method : group.methods)
    problems.collect([&] {
      methods::make_method(method.name, method.options)
          ->check({.device = context_.device, .has_turns = has_turns_});
    });
  problems.raise_if_any();
}

void check_prompts(const Group& group, const RequestAxes& axes) {
  const int64_t shared = axes.shared_tokens, prompt = axes.prompt_tokens;
  if (shared > prompt)
    raise(
        "shared_tokens is {}, but a prompt has {} tokens, the shared ones among them. Set "
        "prompt_tokens to at least {} (--set settings.prompt_tokens={})",
        shared, prompt, shared, shared);
  // The config is read even for random weights, so that a missing model is found now. Random
  // weights prefer no position, so that their prompts may have any length.
  const model::ModelConfig config = Bench::config(group);
  if (!group.model.random_weights) check_positions(config, prompt + axes.new_tokens);
}

MemoryNeed memory_of_prompts(const Group& group, const RequestAxes& axes, int64_t sequences,
                             bool take_turns) {
  return memory_of_model(Bench::config(group), group.weight_type(), group.kv_dtype,
                         kept_tokens(group, axes, sequences, take_turns));
}

engine::Request make_request(const Group& group, int64_t id, std::vector<int32_t> prompt,
                             int64_t new_tokens) {
  engine::Request request;
  request.id = id;
  request.prompt = std::move(prompt);
  request.max_new_tokens = static_cast<int32_t>(new_tokens);
  request.sampling.seed = group.seeds.sampling;
  return request;
}

Fields answers_of(const Group& group, size_t index,
                  const std::vector<std::vector<int32_t>>& tokens_of_methods) {
  const std::vector<int32_t>& tokens = tokens_of_methods[index];
  const std::vector<int32_t>& first = tokens_of_methods[0];
  size_t equal = 0;
  for (size_t i = 0; i < std::min(tokens.size(), first.size()); ++i) equal += tokens[i] == first[i];
  const double share =
      tokens.empty() ? 1 : static_cast<double>(equal) / static_cast<double>(tokens.size());
  return {{"generated_tokens", tokens.size()},
          {"tokens_hash", results::hash_text(results::hash_ids(tokens))},
          {"compared_with", label_of(group.methods[0])},
          {"equal_token_ratio", share}};
}

results::Metrics method_metrics(engine::Engine& engine, const PromptAxes& axes, int64_t requests) {
  results::Metrics metrics;
  engine.cache().report([&](std::string_view name, double value, std::string_view unit) {
    metrics[std::string(name)] = {.value = value, .unit = std::string(unit)};
  });
  metrics[kKvMb.name] = {.value = static_cast<double>(engine.pool().peak_bytes()) * 1e-6,
                         .unit = kKvMb.unit};
  metrics[kPromptTokensTotal.name] = {.value = static_cast<double>(requests * axes.prompt_tokens),
                                      .unit = kPromptTokensTotal.unit};
  return metrics;
}

void add_report(const methods::Method& method, Measurement& out) {
  MeasurementSink sink(out);
  method.report(sink);
}

Fields resolved_settings(engine::Engine& engine, const model::Decoder& decoder,
                         methods::Exactness exactness) {
  Fields settings = resolved_settings(engine, decoder.config(), decoder.weight_bytes(), exactness);
  settings["weight_format"] = name_of(decoder.weight_format());
  return settings;
}

Fields resolved_settings(engine::Engine& engine, const model::ModelConfig& config,
                         int64_t weight_bytes, methods::Exactness exactness) {
  const kv::BlockPoolOptions& pool = engine.pool().options();
  const bool is_exact = exactness == methods::Exactness::kExact;
  return {{"model_shape", Fields{{"type", config.model_type},
                                 {"parameters", config.parameters()},
                                 {"layers", config.layers},
                                 {"hidden", config.hidden},
                                 {"heads", config.heads},
                                 {"kv_heads", config.kv_heads},
                                 {"head_dim", config.head_dim},
                                 {"vocab", config.vocab}}},
          {"weight_bytes", weight_bytes},
          {"exactness", is_exact ? "exact" : "approximate"},
          {"block_tokens", pool.block_tokens},
          {"num_blocks", pool.num_blocks}};
}

std::map<std::string, int64_t> memory_of(const engine::Engine& engine) {
  return {{"kv_peak_bytes", engine.pool().peak_bytes()},
          {"buffers_peak_bytes", AlignedBuffer::peak_bytes()},
          {"process_peak_bytes", peak_resident_bytes()}};
}

}  // namespace reprise::experiments
