// Large files that hold one JSON list: each entry is found first and parsed when it is wanted.
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
  // Throws Error with file and line for a file that is no list, is cut off, or goes on behind it.
  explicit JsonArrayFile(const std::filesystem::path& path);

  [[nodiscard]] int64_t size() const { return std::ssize(entries_); }
  // Throws Error with file and line for what is no JSON.
  [[nodiscard]] Json entry(int64_t index) const;
  [[nodiscard]] std::string where(int64_t index) const;  // "FILE:LINE" where it begins

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
