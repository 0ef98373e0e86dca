// A file mapped read-only into memory; ranges of its pages can be released.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace reprise {

// The file must not shrink while it is mapped, since reading beyond its end kills the process.
// Move-only.
class MappedFile {
 public:
  // Throws Error naming the path if the file cannot be opened or mapped. An empty file maps to no
  // bytes.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Allows the system to drop the range's pages from memory; a later read brings them back from the
  // file. The first and last page are dropped even if other ranges share them.
  void release(size_t offset_bytes, size_t count_bytes) const;
  // Asks the system to read the range ahead of its use. Returns at once.
  void fetch(size_t offset_bytes, size_t count_bytes) const;

 private:
  void advise(size_t offset_bytes, size_t count_bytes, int advice) const;

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace reprise
