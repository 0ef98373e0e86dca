#include "methods/block_drop/block_drop.h"
#include "methods/policy_method.h"

namespace reprise::methods {
namespace {

MadePolicy make(const MethodInfo& info, const block_drop::BlockDropOptions& options,
                const Setup& setup) {
  MadePolicy made = block_drop::make_block_drop(options, cosines_of_layers(info, setup));
  made.chosen["calibration_texts"] = calibration_texts(setup);
  return made;
}

}  // namespace

MethodEntry block_drop_method() {
  return policy_method<block_drop::BlockDropOptions>(
      {.name = "block_drop",
       .summary = "layers that change calibration texts least are left out",
       .paper = "BlockDrop",
       .exactness = Exactness::kApproximate,
       .look = {.color = "", .marker = ""},
       .skips_layers = true,
       .cannot_generate = kNeedsCalibrationTexts,
       .uses_prompts = true},
      make);
}

}  // namespace reprise::methods
