#include "experiments/kinds/shared/group_ties.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/device/memory.h"
#include "experiments/kinds/shared/costs.h"

namespace reprise::experiments {
namespace {

Group in_f32(Group group) {
  group.dtype = DType::kF32;
  const auto& format = group.model.weight_format;  // a quantized format stays
  if (format && !is_quantized(*format)) group.model.weight_format.reset();
  return group;
}

std::string reason(const Error& error) {
  return fmt::format(
      "some generations part from the reference, and only the model in f32 beside this one can "
      "tell whether they do so at near ties. {}",
      error.what());
}

}  // namespace

bool is_rounded(const Group& group) {
  return group.dtype != DType::kF32 || group.kv_dtype != DType::kF32;
}

void add_model_of_ties(const Group& group, MemoryNeed& need) {
  if (!is_rounded(group)) return;
  const Group exact = in_f32(group);
  need.bytes += memory_of_model(Bench::config(exact), exact.weight_type(), DType::kF32, 0).bytes;
  need.of_what += ", and the model in f32 that judges partings";
}

GroupTies::GroupTies(Bench& bench, const Group& group, int32_t chunk)
    : bench_(bench),
      group_(group),
      exact_group_(in_f32(group)),
      exact_bench_(bench.context()),
      chunk_(chunk) {}

NearTie GroupTies::judge(const std::vector<int32_t>& text, int32_t a, int32_t b) {
  if (!judge_ && is_rounded(group_)) {
    judge_.emplace(exact_decoder(), bench_.decoder(group_), group_.kv_dtype, chunk_);
  } else if (!judge_) {
    model::Decoder& decoder = bench_.decoder(group_);
    judge_.emplace(decoder, decoder, DType::kF32, chunk_, /*rounded_chunk=*/1);
  }
  return judge_->judge(text, a, b);
}

model::Decoder& GroupTies::exact_decoder() {
  try {
    return exact_bench_.decoder(exact_group_);
  } catch (const MemoryError& error) {
    throw MemoryError(reason(error), error.need_bytes());
  } catch (const Error& error) {
    raise("{}", reason(error));
  }
}

}  // namespace reprise::experiments
