
#include "methods/layer_policies/calibrate.h"
#include "methods/policy_method.h"
#include "methods/san/san.h"

namespace reprise::methods {
namespace {

MadePolicy make(const MethodInfo& info, const san::SanOptions& options, const Setup& setup) {
  san::MapDivergence divergence(setup.config.layers, options);
  show_calibration(info, setup, divergence);
  const std::vector<int64_t> blocks = san::choose_blocks(divergence, options);
  return {.policy = san::make_san(blocks, setup.config.layers),
          .chosen = {{"first_layers", blocks}, {"calibration_texts", calibration_texts(setup)}}};
}

}  // namespace

MethodEntry san_method() {
  return policy_method<san::SanOptions>(
      {.name = "san",
       .summary = "the same, in blocks that are as long as maps of calibration texts are alike",
       .paper = "SAN",
       .exactness = Exactness::kApproximate,
       .look = {.color = "", .marker = ""},
       .skips_layers = false,
       .cannot_generate = kNeedsCalibrationTexts,
       .uses_prompts = true},
      make);
}

}  // namespace reprise::methods
