// Conversations in the file format of ShareGPT_V3.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "workloads/serving/json_array_file.h"

namespace reprise::workloads::serving {

struct Message {
  std::string from;  // "human", "gpt", ...
  std::string text;
};

// Reads [{"conversations": [{"from": ..., "value": ...}, ...], ...}, ...] and ignores other keys.
class ShareGptFile {
 public:
  // Throws Error as JsonArrayFile does.
  explicit ShareGptFile(const std::filesystem::path& path) : file_(path) {}

  [[nodiscard]] int64_t size() const { return file_.size(); }
  // Throws Error with file, line and key.
  [[nodiscard]] std::vector<Message> messages(int64_t conversation) const;

 private:
  JsonArrayFile file_;
};

}  // namespace reprise::workloads::serving
