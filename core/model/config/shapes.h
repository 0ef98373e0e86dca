// The shapes of models/shapes/, compiled into the library so that no path is needed at run time.
#pragma once

#include <span>
#include <string_view>

namespace reprise::model {

struct ShippedShape {
  std::string_view name;  // file name without .json
  std::string_view json;  // text of a Hugging Face config.json
};

// Defined in a source file that core/model/CMakeLists.txt generates from models/shapes.
std::span<const ShippedShape> shape_texts();

}  // namespace reprise::model
