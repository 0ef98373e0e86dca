// Writes small .safetensors files, for tensors that this program trains or computes itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace reprise::model {

struct TensorToWrite {
  std::string name;
  std::vector<int64_t> shape;     // outermost first
  std::span<const float> values;  // row-major; as many values as the shape says (CHECK)
};

// Writes f32 tensors in the given order; names must differ (CHECK). `metadata` is the text of a
// JSON object of strings, stored under "__metadata__"; "" for none. Written atomically. Throws
// Error if the folder or the disk refuses.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::string& metadata = "");

// The "__metadata__" of such a file as the text of a JSON object; "{}" if there is none. Throws
// Error as SafetensorsFile does.
std::string safetensors_metadata_of(const std::filesystem::path& path);

}  // namespace reprise::model
