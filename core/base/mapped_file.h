// A file mapped read-only into memory, whose pages can be given back range by range.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace reprise {

// Move-only. The file must not shrink while it is mapped (the system would end the process).
class MappedFile {
 public:
  // Throws Error naming the path when it cannot be opened or mapped. An empty file has no bytes.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  // The range's pages may leave memory; a later read brings them back from the file. Pages that the
  // range shares with its neighbours leave too.
  void release(size_t offset_bytes, size_t count_bytes) const;
  // The range will be read soon: the system may begin to bring it in. Returns at once.
  void fetch(size_t offset_bytes, size_t count_bytes) const;

 private:
  void advise(size_t offset_bytes, size_t count_bytes, int advice) const;

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace reprise
