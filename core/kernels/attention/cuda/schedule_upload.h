// Keeps device copies of arrays up to date that change a little from step to step: finds the bytes
// that must be copied again.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace reprise::kernels::cuda {

// Sections of bytes in one run of device memory. Sections have room to grow. As long as all
// sections fit into their room, a section that changed is copied in place, from its first to its
// last differing byte. Unchanged sections are not copied. [ChunkAttention §3.3 copies its tree's
// context only when it changes]
class UploadImage {
 public:
  static constexpr size_t kAlignment = 256;

  explicit UploadImage(size_t sections) : sections_(sections) {}

  void set(size_t section, std::span<const std::byte> bytes);
  template <typename T>
  void set(size_t section, std::span<const T> values) {
    set(section, std::as_bytes(values));
  }

  struct Copy {
    size_t offset = 0;                 // from the beginning of the device memory
    std::span<const std::byte> bytes;  // valid until the next set()
  };
  struct Changes {
    size_t needed_bytes = 0;  // size of the device memory
    bool has_moved = false;   // offsets have changed: everything must be copied anew
    std::vector<Copy> copies;
  };
  // Returns the copies that bring the device up to date with all calls of set(). The next call
  // assumes that they have been made.
  Changes changes();

  // Offset from the beginning of the device memory, as of the last changes().
  [[nodiscard]] size_t offset(size_t section) const { return sections_[section].offset; }

 private:
  struct Section {
    std::vector<std::byte> bytes;
    size_t offset = 0, capacity = 0;
    size_t first_change = 0, end_change = 0;  // no change if they are equal
  };
  void move_sections();

  std::vector<Section> sections_;
  size_t needed_bytes_ = 0;
  bool must_move_ = true;
};

}  // namespace reprise::kernels::cuda
