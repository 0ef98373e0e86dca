#include "core/kernels/linear/weight_calibration.h"

#include <cstring>
#include <vector>

#include "core/base/steady_now.h"
#include "core/kernels/linear/cpu/linear_task.h"
#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/linear.h"

namespace reprise::kernels {
namespace {

constexpr int64_t kOutputs = 4096, kInputs = 2048;

WeightFetch Context::*setting_of(WeightFormat format, int64_t rows) {
  if (is_quantized(format)) return &Context::weights_codes;
  return cpu::plain_fetch(source_dtype(format), rows);
}

// Settings to compare for products of `rows` rows. With more rows, longer distances are tried. With
// 32 rows, AMX is fastest if it prefetches 8 KiB ahead. Without AMX, a product of more than
// kBatchRows rows prefetches at least a whole block of weights (an eighth of the L2), whatever the
// distance is. So there one distance is tried, with L1 and with L2.
std::vector<WeightFetch> all_settings(const WeightFetch& usual, int64_t rows, Isa isa) {
  using Level = FetchSetting::Level;
  std::vector<int> distances = {8, 16, 32, 64};  // KiB
  if (isa != Isa::kAmx) distances = {32};
  if (rows <= cpu::kBatchRows) distances = {4, 8, 16, 32};
  if (rows == 1) distances = {0, 2, 4, 8, 16};
  std::vector<WeightFetch> all = {usual};
  for (const Level level : {Level::kL1, Level::kL2})
    for (const int kib : distances) {
      const WeightFetch one{.level = level, .bytes = kib << 10};
      if (one != usual && (kib > 0 || level == Level::kL1)) all.push_back(one);
    }
  return all;
}

// Makes a matrix and writes all its weights. Their values do not affect the time, but pages that
// were never written would share one page of zeros.
Weight make_matrix(WeightType type, const Context& context) {
  return {kOutputs, kInputs, type,
          [&](int64_t first, int64_t end, void* out) {
            std::memset(
                out, 60,
                static_cast<size_t>((end - first) * kInputs) * size_of(source_dtype(type.format)));
          },
          context};
}

WeightType type_of(WeightFormat format) {
  return {format, format == WeightFormat::kF32 ? DType::kF32 : DType::kBF16};
}

}  // namespace

WeightCalibration::WeightCalibration(WeightFormat format, const Context& context)
    : format_(format), context_(context) {
  if (given_weight_fetch()) return;
  const int64_t most = bytes_beyond_caches(context.threads);
  for (int64_t bytes = 0; bytes <= most; bytes += static_cast<int64_t>(matrices_.back().bytes()))
    matrices_.push_back(make_matrix(type_of(format), context));
  matrices_.pop_back();  // the last one exceeds `most`
}

Calibration<WeightFetch> WeightCalibration::run(int64_t rows) {
  if (const auto given = given_weight_fetch())
    return {.chosen = *given, .trials = {}, .reason = "REPRISE_WEIGHT_FETCH says so"};
  WeightFetch& fetch = context_.*setting_of(format_, rows);
  fetch = Context{}.*setting_of(format_, rows);
  if (matrices_.size() < 2)
    return {.chosen = fetch, .trials = {}, .reason = "the default: too little memory to measure"};
  const AlignedBuffer x(static_cast<size_t>(rows * kInputs) * size_of(type_of(format_).input));
  AlignedBuffer out(static_cast<size_t>(rows * kOutputs) * sizeof(float));
  LinearWorkspace workspace;
  size_t turn = 0;
  return hold_contest(all_settings(fetch, rows, context_.isa), [&](const WeightFetch& setting) {
    fetch = setting;
    const Weight& w = matrices_[++turn % matrices_.size()];
    const int64_t begin_ns = steady_now_ns();
    LinearCall{.x = x.data(), .m = rows, .out = out.data()}.run(w, workspace, context_);
    return 1e-9 * static_cast<double>(w.bytes()) / seconds_since(begin_ns);
  });
}

}  // namespace reprise::kernels
