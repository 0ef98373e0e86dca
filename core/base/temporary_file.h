// A temporary file that this program writes for another program to read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace reprise {

// Returns the folder for temporary files: TMPDIR if it is set and not empty, else /tmp. Throws
// Error naming the path if it is no folder.
std::filesystem::path temporary_folder();

// A file in temporary_folder(), readable by this user alone, removed by the destructor. Neither
// copied nor moved.
class TemporaryFile {
 public:
  // `name` is the beginning of the file's name, such as "reprise-texts". Throws Error naming the
  // path if the file cannot be written.
  TemporaryFile(std::string_view name, std::string_view bytes);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace reprise
