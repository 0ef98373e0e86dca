#include "core/kernels/linear/weight_calibration.h"

#include <chrono>
#include <cstring>
#include <vector>

#include "core/kernels/linear/linear.h"

namespace reprise::kernels {
namespace {

constexpr int64_t kOutputs = 4096, kInputs = 2048;

// The setting of a context that products with this format use.
WeightFetch& setting_of(Context& context, WeightFormat format) {
  if (is_quantized(format)) return context.weights_codes;
  return format == WeightFormat::kBF16 ? context.weights_bf16 : context.weights_f32;
}

std::vector<WeightFetch> all_settings(const WeightFetch& usual) {
  using Level = FetchSetting::Level;
  std::vector<WeightFetch> all = {usual};
  for (const Level level : {Level::kL1, Level::kL2})
    for (const int kib : {0, 2, 4, 8, 16}) {
      const WeightFetch one{.level = level, .bytes = kib << 10};
      if (one != usual && (kib > 0 || level == Level::kL1)) all.push_back(one);
    }
  return all;
}

// Values do not change times, but pages that were never written share one page of zeros.
Weight make_matrix(WeightType type, const Context& context) {
  return {kOutputs, kInputs, type,
          [&](int64_t first, int64_t end, void* out) {
            std::memset(
                out, 60,
                static_cast<size_t>((end - first) * kInputs) * size_of(source_dtype(type.format)));
          },
          context};
}

}  // namespace

Calibration<WeightFetch> calibrate_weights(WeightFormat format, const Context& usual) {
  if (const auto given = given_weight_fetch())
    return {.chosen = *given, .trials = {}, .reason = "REPRISE_WEIGHT_FETCH says so"};
  Context defaults, context = usual;
  WeightFetch& fetch = setting_of(context, format);
  fetch = setting_of(defaults, format);
  const WeightType type(format, format == WeightFormat::kF32 ? DType::kF32 : DType::kBF16);
  std::vector<Weight> matrices;
  const int64_t most = bytes_beyond_caches();
  for (int64_t bytes = 0; bytes <= most; bytes += static_cast<int64_t>(matrices.back().bytes()))
    matrices.push_back(make_matrix(type, context));
  matrices.pop_back();  // the one beyond the most
  if (matrices.size() < 2)
    return {.chosen = fetch, .trials = {}, .reason = "the default: too little memory to measure"};
  const AlignedBuffer x(kInputs * size_of(type.input));
  AlignedBuffer out(kOutputs * sizeof(float));
  LinearWorkspace workspace;
  size_t turn = 0;
  return hold_contest(all_settings(fetch), [&](const WeightFetch& setting) {
    fetch = setting;
    const Weight& w = matrices[++turn % matrices.size()];
    const auto start = std::chrono::steady_clock::now();
    LinearCall{.x = x.data(), .m = 1, .out = out.data()}.run(w, workspace, context);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return 1e-9 * static_cast<double>(w.bytes()) / elapsed.count();
  });
}

}  // namespace reprise::kernels
