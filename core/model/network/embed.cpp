#include "core/model/network/embed.h"

#include "core/base/error.h"
#include "core/kernels/embedding.h"

namespace reprise::model {
namespace {

void require_within(std::span<const int32_t> ids, int64_t entries, std::string_view what,
                    const std::string& name) {
  for (const int32_t id : ids)
    if (id < 0 || id >= entries)
      raise("{} {} is outside {}'s {}", what, id, name,
            what == "token id" ? fmt::format("vocabulary of {}", entries)
                               : fmt::format("table of {}", entries));
}

}  // namespace

void Embed::run(const StepInput& step) {
  const ModelConfig& config = network_.config;
  require_within(step.ids, config.vocab, "token id", config.name);
  const PartSet& model = network_.weights.model;
  auto* residual = network_.buffers.residual.as<float>();
  kernels::EmbeddingCall words{.ids = step.ids, .out = residual};
  if (model[Part::kEmbedding].table.empty()) {
    words.weight = &model[Part::kHead].matrix;
  } else {
    words.table = model[Part::kEmbedding].table.view();
  }
  words.run(network_.context);
}

}  // namespace reprise::model
