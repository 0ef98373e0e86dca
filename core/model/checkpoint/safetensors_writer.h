// Writes small .safetensors files with tensors that this program trains or computes itself.
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
  std::span<const float> values;  // row-major; their number must match the shape (CHECK)
};

// Writes f32 tensors in the given order. Their names must differ (CHECK). `metadata` is a JSON
// object of strings, as text, which is stored under "__metadata__"; "" for none. The file is
// written atomically. Throws Error if the system refuses, such as for a full disk.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::string& metadata = "");

// Returns the "__metadata__" of a .safetensors file as the text of a JSON object, or "{}" if there
// is none. Throws Error as SafetensorsFile does.
std::string safetensors_metadata_of(const std::filesystem::path& path);

}  // namespace reprise::model
