#include "methods/attn_drop/attn_drop.h"
#include "methods/policy_method.h"

namespace reprise::methods {
namespace {

MadePolicy make(const MethodInfo& info, const attn_drop::AttnDropOptions& options,
                const Setup& setup) {
  MadePolicy made = attn_drop::make_attn_drop(options, cosines_of_layers(info, setup));
  made.chosen["calibration_texts"] = calibration_texts(setup);
  return made;
}

}  // namespace

MethodEntry attn_drop_method() {
  return policy_method<attn_drop::AttnDropOptions>(
      {.name = "attn_drop",
       .summary = "layers whose attention changes calibration texts least do without it",
       .paper = "AttnDrop",
       .exactness = Exactness::kApproximate,
       .look = {.color = "", .marker = ""},
       .skips_layers = true,
       .cannot_generate = kNeedsCalibrationTexts,
       .uses_prompts = true},
      make);
}

}  // namespace reprise::methods
