// What kind "attention" can sweep and what it measures.
#include <map>

#include "baselines/torch/torch_attention.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/attention/attention_kind.h"
#include "experiments/kinds/attention/attention_metrics.h"

namespace reprise::experiments {
namespace {

std::vector<Axis> axes_of_layer() {
  return {{.name = "batch",
           .fallback = 32,
           .accepted = Integers{1, kMostSequences},
           .unit = "sequences",
           .help = "sequences that decode together"},
          {.name = "heads",
           .fallback = 32,
           .accepted = Integers{1, 1024},
           .unit = "heads",
           .help = "query heads"},
          {.name = "kv_heads",
           .fallback = 0,
           .accepted = Integers{0, 1024},
           .unit = "heads",
           .help = "heads of keys and values; 0: as many as heads"},
          {.name = "head_dim",
           .fallback = 128,
           .accepted = Integers{1, 256},
           .unit = "elements",
           .help = "size of a head"}};
}

std::vector<Axis> axes_of_sequences() {
  return {{.name = "prompt_tokens",
           .fallback = 0,
           .accepted = Integers{0, kMostTokens},
           .unit = "tokens",
           .help = "n_p, the shared part included; 0: shared_tokens + context_tokens"},
          {.name = "context_tokens",
           .fallback = 0,
           .accepted = Integers{0, kMostTokens},
           .unit = "tokens",
           .help = "c, what follows the shared part of a prompt, where prompt_tokens is 0"},
          {.name = "shared_tokens",
           .fallback = 0,
           .accepted = Integers{0, kMostTokens},
           .unit = "tokens",
           .help = "n_s, the same for all sequences"},
          {.name = "shared_percent",
           .fallback = 0,
           .accepted = Integers{0, 100},
           .unit = "%",
           .help = "n_s as a share of n_p"},
          {.name = "completion_tokens",
           .fallback = 1,
           .accepted = Integers{1, kMostNewTokens},
           .unit = "tokens",
           .help = "n_c, tokens each sequence generates; samples are spread evenly over these "
                   "steps"}};
}

std::vector<Axis> axes_around() {
  return {{.name = "hidden",
           .fallback = 0,
           .accepted = Integers{0, 65536},
           .unit = "elements",
           .help = "width of the layer; its linear layers are timed too (0: they are not)"},
          {.name = "intermediate",
           .fallback = 0,
           .accepted = Integers{0, 262144},
           .unit = "elements",
           .help = "width of its MLP"}};
}

std::vector<Axis> all_axes() {
  std::vector<Axis> axes = axes_of_layer();
  for (const auto& more : {axes_of_sequences(), axes_around()})
    axes.insert(axes.end(), more.begin(), more.end());
  return axes;
}

std::vector<Series> torch_series() {
  static const std::map<std::string, Look> looks = {{"torch_naive", {"#7F7F7F", "<"}},
                                                    {"torch_memory_efficient", {"#8C564B", ">"}},
                                                    {"torch_sdpa", {"#7B5CB8", "h"}}};
  std::vector<Series> series;
  for (const baselines::TorchBaseline& method : baselines::torch_baselines())
    series.push_back({.name = method.name, .help = method.summary, .look = looks.at(method.name)});
  return series;
}

}  // namespace

std::vector<MetricInfo> attention_metrics() {
  std::vector<MetricInfo> metrics = {kLatencyUs,
                                     kSpeedup,
                                     kStepUs,
                                     kStepSpeedup,
                                     kBestRatio,
                                     kIoBoundSpeedup,
                                     kIoBoundRatio,
                                     kRelayTheorySpeedup,
                                     kProblemBesideRatio,
                                     kPlanBesideRatio,
                                     kProblemLimitRatio,
                                     kPlanLimitRatio,
                                     kStreamRatio,
                                     kAppendUs,
                                     kSharedUs,
                                     kPrivateUs,
                                     kMergeUs,
                                     kPlanUs,
                                     kTokensPerS,
                                     kUsefulMb,
                                     kReadMb,
                                     kMflop,
                                     kIntensity,
                                     kReadGbS,
                                     kStreamGbS,
                                     kGflopS,
                                     kBesideGbS,
                                     kBesideGflopS,
                                     kKvMb};
  for (const LinearMetrics& layer : {kQkvMetrics, kMlpMetrics})
    for (const MetricInfo& metric : {layer.time_us, layer.mflop, layer.mb, layer.intensity})
      metrics.push_back(metric);
  return metrics;
}

KindInfo AttentionKind::info() {
  return {.name = "attention",
          .summary =
              "decode steps of one attention layer over sequences with a shared prefix, no model",
          .axes = all_axes(),
          .metrics = attention_metrics(),
          .series = torch_series(),
          .method_use = MethodUse::kPlans,
          .takes_model = false,
          .interleaves_points = true};
}

}  // namespace reprise::experiments
