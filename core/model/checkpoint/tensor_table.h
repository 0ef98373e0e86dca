// The one table of a model's tensors: which there are, their shapes, and what files call them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint/weights.h"

namespace reprise::model {

// The vocabularies of tensor names that files use.
enum class Naming : uint8_t {
  kLlama,
  kFalcon,
  kFalconTwoNorms,
  kMpt,
  kPhi,
  kBert,
  kMixtral,    // as kLlama, but for the experts
  kDebertaV1,  // as kBert, but for what attention reads
  kDeberta,    // likewise
  kDeepseek    // as kLlama, but for the shared experts
};
inline constexpr size_t kNamings = static_cast<size_t>(Naming::kDeepseek) + 1;

// Where in a forward pass a part stands.
enum class Stage : uint8_t {
  kBeforeLayers,
  kLayer,        // in every layer
  kDenseLayer,   // in layers without experts
  kExpertLayer,  // in layers with experts, once
  kExpert,       // there, once for each expert that tokens are routed to
  kAfterLayers
};

struct PartRow {
  Part part;
  const char* text;  // for messages
  Stage stage;
  PartKind kind;
  bool (*has_weight)(const ModelConfig&);
  bool (*has_bias)(const ModelConfig&);
  int64_t (*rows)(const ModelConfig&);  // of the weight; a norm's is 1
  int64_t (*cols)(const ModelConfig&);
  // The stored tensors that hold it, in canonical order, without prefix, layer and ".weight"; a
  // leading '/' stands for no prefix, '@' for the expert's number. Several names: separated by
  // spaces.
  std::array<const char*, kNamings> names;  // empty: no model of that naming has it
};

// In the order of a forward pass.
std::span<const PartRow> part_table();
const PartRow& row_of(Part part);
// The row's names in that vocabulary, as PartRow has them.
std::string_view stored_names(const PartRow& row, Naming naming);

Naming naming_of(const ModelConfig& config);
// "model.", "transformer.", "bert." or "deberta.": files of the bare decoder, saved without its
// head, leave it out.
std::string_view name_prefix(const ModelConfig& config);
// "layers", "h", "blocks", "encoder.layer": what stands before a layer's number.
std::string_view layers_name(Naming naming);

}  // namespace reprise::model
