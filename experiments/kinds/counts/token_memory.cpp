#include "experiments/kinds/counts/token_memory.h"

#include "core/model/config/config.h"
#include "core/store/segment_buffer.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {
namespace {

constexpr const char* kAllHeads = "all_heads";
constexpr const char* kKvHeads = "kv_heads";
constexpr double kMiB = 1 << 20;

const MetricInfo kMibPerToken = {"mib_per_token", "MiB",
                                 "keys and values of one token, all layers"};
const MetricInfo kModuleMib = {"module_mib", "MiB", "of a module of module_tokens"};

struct TokenMemoryAxes {
  int64_t module_tokens = 1000;

  void visit(AxisVisitor& visitor) {
    visitor.integer({"module_tokens", "tokens", "length of a module"}, {1, kMostTokens},
                    module_tokens);
  }
};

kv::SegmentShape shape_of(const model::ModelConfig& config, bool all_heads, int64_t tokens,
                          DType dtype) {
  return {.layers = config.layers,
          .kv_heads = all_heads ? config.heads : config.kv_heads,
          .tokens = tokens,
          .head_dim = config.head_dim,
          .dtype = dtype};
}

}  // namespace

KindInfo TokenMemoryKind::info() {
  return {
      .name = "token_memory",
      .summary = "memory that the keys and values of a cached token take [Prompt Cache table 2]",
      .axes = list_axes<TokenMemoryAxes>(),
      .metrics = {kMibPerToken, kModuleMib},
      .series = {{.name = kAllHeads,
                  .help = "as if every head had keys and values of its own: the paper's "
                          "formula, 2 x layers x hidden x bytes"},
                 {.name = kKvHeads,
                  .help = "the heads that the model has (grouped and multi-query attention "
                          "share them): what is held"}},
      .method_use = std::nullopt};
}

void TokenMemoryKind::check(const Group& group) { (void)Bench::config(group); }

MemoryNeed TokenMemoryKind::memory_need(const Group& /*group*/) { return {}; }

std::vector<Measurement> TokenMemoryKind::measure(const Group& group, const Machine& /*machine*/,
                                                  const std::atomic<bool>& /*stop*/) {
  const auto axes = group.axes_as<TokenMemoryAxes>();
  const model::ModelConfig config = Bench::config(group);
  std::vector<Measurement> all;
  for (const MethodChoice& method : group.methods) {
    const bool all_heads = method.name == kAllHeads;
    const auto mib = [&](int64_t tokens) {
      return static_cast<double>(shape_of(config, all_heads, tokens, group.kv_dtype).bytes()) /
             kMiB;
    };
    Measurement out;
    out.set(kMibPerToken, mib(1));
    out.set(kModuleMib, mib(axes.module_tokens));
    out.resolved = {{"layers", config.layers},
                    {"heads", config.heads},
                    {"kv_heads", config.kv_heads},
                    {"head_dim", config.head_dim}};
    all.push_back(std::move(out));
  }
  return all;
}

}  // namespace reprise::experiments
