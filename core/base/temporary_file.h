// A file for as long as another program reads it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace reprise {

// The system's folder for such files: what TMPDIR names, else /tmp. Throws Error naming it where it
// is no folder.
std::filesystem::path temporary_folder();

// In the system's folder for such files, readable by this user alone; removed when it ends. Neither
// copied nor moved.
class TemporaryFile {
 public:
  // `name` begins the file's name: "reprise-texts". Throws Error naming the path where it cannot be
  // written.
  TemporaryFile(std::string_view name, std::string_view bytes);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace reprise
