#include "methods/prompt_setup.h"

#include <fmt/format.h>

#include <utility>

namespace reprise::methods {

Setup prompt_setup(const model::Decoder& model, const Context& context, const std::string& name,
                   uint64_t weights_seed) {
  return {.context = on_cpu(context),
          .runtime = model.runtime(),
          .config = model.config(),
          .model = fmt::format("{} {} {}", name, name_of(model.weight_format()), weights_seed),
          .seed = weights_seed};
}

std::vector<int32_t> shaped_prompt(engine::RequestShaper* shaper, std::vector<int32_t> ids) {
  if (shaper == nullptr) return ids;
  engine::Request request{.prompt = std::move(ids)};
  shaper->shape(request);
  return std::move(request.prompt);
}

}  // namespace reprise::methods
