// A file mapped read-only into memory; ranges of its pages can be released.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace reprise {

// Move-only. The file must not shrink while it is mapped: reading beyond its end kills the process.
class MappedFile {
 public:
  // Throws Error naming the path if it cannot be opened or mapped. An empty file has no bytes.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Allows the system to drop the range's pages from memory; a later read brings them back from the
  // file. Also drops the pages that the range shares with its neighbours.
  void release(size_t offset_bytes, size_t count_bytes) const;
  // Asks the system to read the range ahead, because it will be used soon. Returns at once.
  void fetch(size_t offset_bytes, size_t count_bytes) const;

 private:
  void advise(size_t offset_bytes, size_t count_bytes, int advice) const;

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace reprise
