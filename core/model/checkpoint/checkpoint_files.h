// The safetensors files of a checkpoint folder (one file or several shards) as one set of named
// tensors.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <string>

#include "core/model/checkpoint/safetensors.h"

namespace reprise::model {

// A tensor and the file that contains it. Both live as long as the CheckpointFiles.
struct FileTensor {
  const SafetensorsFile* file = nullptr;
  const SafetensorsEntry* entry = nullptr;
};

class CheckpointFiles {
 public:
  // Opens model.safetensors if it exists, else the shards that model.safetensors.index.json lists.
  // Throws Error if neither exists, a shard's name is no plain file name, a shard is missing or
  // damaged, or the index and the shards disagree about a tensor.
  explicit CheckpointFiles(const std::filesystem::path& dir);
  CheckpointFiles(const CheckpointFiles&) = delete;
  CheckpointFiles& operator=(const CheckpointFiles&) = delete;

  [[nodiscard]] const std::map<std::string, FileTensor>& tensors() const { return tensors_; }
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }

 private:
  void open_shards(const std::filesystem::path& index);
  const SafetensorsFile& add_file(const std::filesystem::path& path);

  std::filesystem::path dir_;
  std::deque<SafetensorsFile> files_;  // a deque keeps the addresses of its elements
  std::map<std::string, FileTensor> tensors_;
};

}  // namespace reprise::model
