// The table of all parts of all models: which models have a part, its shape, and its names in
// files.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint/weights.h"

namespace reprise::model {

// The ways in which families name tensors in files.
enum class Naming : uint8_t {
  kLlama,
  kFalcon,
  kFalconTwoNorms,
  kMpt,
  kPhi,
  kBert,
  kMixtral,    // as kLlama, except for the experts
  kDebertaV1,  // as kBert, except for attention's inputs
  kDeberta,    // as kBert, except for attention's inputs and the convolution
  kDeepseek    // as kLlama, except for the shared experts
};
inline constexpr size_t kNamings = static_cast<size_t>(Naming::kDeepseek) + 1;

// The place in a forward pass where a part of the model is used.
enum class Stage : uint8_t {
  kBeforeLayers,
  kLayer,        // in every layer
  kDenseLayer,   // in each layer without experts
  kExpertLayer,  // once in each layer with experts
  kExpert,       // in each layer with experts, once for each routed expert
  kAfterLayers
};

struct PartRow {
  Part part;
  const char* text;  // name of the part in messages
  Stage stage;
  PartKind kind;
  bool (*has_weight)(const ModelConfig&);
  bool (*has_bias)(const ModelConfig&);
  int64_t (*rows)(const ModelConfig&);  // rows of the weight; 1 for a norm
  int64_t (*cols)(const ModelConfig&);
  // Names of the stored tensors of the part, in canonical order, separated by spaces. Prefix, layer
  // and ".weight" are left out. A leading '/' means that no prefix is added; '@' stands for the
  // expert's number. "": no model with that naming has the part. Null: the names are those of kBert
  // for the two DeBERTas, and those of kLlama for the other namings.
  std::array<const char*, kNamings> names;
};

// Returns the table's rows in the order of a forward pass.
std::span<const PartRow> part_table();
const PartRow& row_of(Part part);
// Returns the row's names in `naming`, in the form of PartRow::names.
std::string_view stored_names(const PartRow& row, Naming naming);

Naming naming_of(const ModelConfig& config);
// Returns "model.", "transformer.", "bert.", "roberta." or "deberta.". Files of a decoder that was
// saved without its head leave out this prefix.
std::string_view name_prefix(const ModelConfig& config);
// Returns the text before a layer's number: "layers", "h", "blocks", "encoder.layer".
std::string_view layers_name(Naming naming);

}  // namespace reprise::model
