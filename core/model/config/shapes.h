// The shapes of models/shapes/, compiled into the library so that they are found wherever it runs.
#pragma once

#include <span>
#include <string_view>

namespace reprise::model {

struct ShippedShape {
  std::string_view name;  // of the file, without .json
  std::string_view json;  // a Hugging Face config.json
};

// Defined in a source file that core/model/CMakeLists.txt writes from models/shapes/*.json.
std::span<const ShippedShape> shape_texts();

}  // namespace reprise::model
