// Writes small .safetensors files: what this program trains or makes itself.
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
  std::span<const float> values;  // row-major; as many as the shape says (CHECK)
};

// f32 tensors in the order given, none of them named twice (CHECK). `metadata` is a JSON object of
// strings, as text, kept under "__metadata__"; "" for none. The file appears whole or not at all.
// Throws Error where the folder or the disk refuses.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::string& metadata = "");

// The text of "__metadata__" of such a file as a JSON object; "{}" where there is none. Throws
// Error as SafetensorsFile does.
std::string safetensors_metadata_of(const std::filesystem::path& path);

}  // namespace reprise::model
