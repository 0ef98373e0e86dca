#include "core/kernels/calibration/calibration.h"

#include <optional>

#include "core/base/error.h"
#include "core/kernels/attention/fetch_calibration.h"
#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/weight_calibration.h"

namespace reprise::kernels {
namespace {

// Parses the text of `choice` into `setting`; does nothing if `choice` is absent.
template <typename Setting>
void take(const std::optional<FetchChoice>& choice, const char* key,
          Setting (*parse)(std::string_view), Setting& setting) {
  if (!choice) return;
  try {
    setting = parse(choice->chosen);
  } catch (const Error& error) {
    raise("\"fetch.{}.chosen\": {}", key, error.what());
  }
}

}  // namespace

FetchChoices calibrate(const Context& context) {
  FetchChoices choices{.bf16 = choice_of(calibrate_fetch(DType::kBF16, context)),
                       .f32 = choice_of(calibrate_fetch(DType::kF32, context))};
  const auto weights = [&](WeightFormat format) {
    return choice_of(WeightCalibration(format, context).run(1));
  };
  choices.weights_f32 = weights(WeightFormat::kF32);
  choices.weights_codes = weights(WeightFormat::kInt8);
  WeightCalibration bf16(WeightFormat::kBF16, context);
  choices.weights_bf16 = choice_of(bf16.run(1));
  if (cpu::streams_batches(DType::kBF16, context)) {
    choices.batch_bf16 = choice_of(bf16.run(12));
    choices.large_batch_bf16 = choice_of(bf16.run(32));
  }
  return choices;
}

Context with_calibration(Context context, const FetchChoices& choices) {
  take(choices.bf16, "bf16", parse_fetch, context.fetch_bf16);
  take(choices.f32, "f32", parse_fetch, context.fetch_f32);
  take(choices.weights_bf16, "weights_bf16", parse_weight_fetch, context.weights_bf16);
  take(choices.weights_f32, "weights_f32", parse_weight_fetch, context.weights_f32);
  take(choices.weights_codes, "weights_codes", parse_weight_fetch, context.weights_codes);
  take(choices.batch_bf16, "batch_bf16", parse_weight_fetch, context.batch_bf16);
  take(choices.large_batch_bf16, "large_batch_bf16", parse_weight_fetch, context.large_batch_bf16);
  return context;
}

Context with_calibration(Context context, const Machine& machine) {
  if (!machine.fetch) return context;
  try {
    return with_calibration(std::move(context), *machine.fetch);
  } catch (const Error& error) {
    raise("the machine's facts and limits (machine.json): {}", error.what());
  }
}

}  // namespace reprise::kernels
