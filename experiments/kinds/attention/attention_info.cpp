// The axes and metrics of kind "attention".
#include <map>

#include "baselines/torch/torch_attention.h"
#include "experiments/framework/shared_info.h"
#include "experiments/kinds/attention/attention_kind.h"
#include "experiments/kinds/attention/attention_metrics.h"
#include "experiments/kinds/attention/attention_problem.h"

namespace reprise::experiments {
namespace {

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
          .axes = list_axes<AttentionAxes>(),
          .metrics = attention_metrics(),
          .series = torch_series(),
          .method_use = MethodUse::kPlans,
          .takes_model = false,
          .interleaves_points = true};
}

}  // namespace reprise::experiments
