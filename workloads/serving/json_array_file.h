// Reads large files that hold one JSON list: entries are located first and parsed on demand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/mapped_file.h"

namespace reprise::workloads::serving {

class JsonArrayFile {
 public:
  // Throws Error with file and line if the file is no list, is cut off, or continues after the
  // list.
  explicit JsonArrayFile(const std::filesystem::path& path);

  [[nodiscard]] int64_t size() const { return std::ssize(entries_); }
  // Throws Error with file and line for invalid JSON.
  [[nodiscard]] Value entry(int64_t index) const;
  [[nodiscard]] std::string where(int64_t index) const;  // "FILE:LINE" where the entry begins

 private:
  struct Extent {
    size_t begin = 0, end = 0;
    int64_t line = 1;
  };
  class Scanner;

  std::string path_;
  MappedFile file_;
  std::vector<Extent> entries_;
};

}  // namespace reprise::workloads::serving
