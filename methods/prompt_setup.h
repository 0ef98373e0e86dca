// Sets up methods for programs that run prompts and generate nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/request_shaper.h"
#include "core/model/network/decoder.h"
#include "methods/method.h"

namespace reprise::methods {

// Makes the setup of a method that computes prompts with `model`. The model must outlive the setup.
// `name` is the model's name in the experiment, and `weights_seed` the seed of its weights if they
// are random. The caller adds `run` and the prompts to store and to learn from.
Setup prompt_setup(const model::Decoder& model, const Context& context, const std::string& name,
                   uint64_t weights_seed);

// The prompt in the form that the method wants, for example padded. `shaper` may be null: the
// prompt stays as it is.
std::vector<int32_t> shaped_prompt(engine::RequestShaper* shaper, std::vector<int32_t> ids);

}  // namespace reprise::methods
