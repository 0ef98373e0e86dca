// Shared by the libFuzzer targets. Each target defines LLVMFuzzerTestOneInput(), which gives bytes
// to one reader: it must accept them or throw Error. Everything else that happens (a crash, a leak,
// another exception, undefined behaviour) ends the target.
#pragma once

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/write_all.h"

namespace reprise::fuzz {

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// True for one in a hundred inputs, chosen by a hash of the bytes. make_seeds leaves them out.
inline bool is_canary(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size()) % 101 == 10;
}

// A fault on purpose, which shows that fuzzing would find one: if REPRISE_FUZZ_CANARY is set, an
// accepted input that is_canary() ends the target.
inline void canary(std::string_view accepted) {
  static const bool is_wanted = std::getenv("REPRISE_FUZZ_CANARY") != nullptr;
  if (is_wanted && is_canary(accepted)) std::abort();
}

// Calls read(), which reads `input`, and then canary() unless read() throws Error.
template <typename Read>
void expect_read_or_refused(std::string_view input, Read&& read) {
  try {
    read();
  } catch (const Error&) {
    return;
  }
  canary(input);
}

// A file that is overwritten for each input, for readers that take a path. A target
// that is ended leaves the file; run.sh deletes its whole TMPDIR.
class ScratchFile {
 public:
  // The file's name ends in `ending`, such as "tokenizer.json".
  explicit ScratchFile(const std::string& ending) {
    folder_ =
        std::filesystem::temp_directory_path() / ("reprise_fuzz_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    path_ = folder_ / ending;
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& write(std::string_view bytes) {
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || !write_all(file, bytes)) std::abort();
    ::close(file);
    return path_;
  }

 private:
  std::filesystem::path folder_, path_;
};

}  // namespace reprise::fuzz
