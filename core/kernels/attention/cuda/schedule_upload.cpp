#include "core/kernels/attention/cuda/schedule_upload.h"

#include <algorithm>

namespace reprise::kernels::cuda {
namespace {

constexpr size_t aligned(size_t bytes) {
  return (bytes + UploadImage::kAlignment - 1) / UploadImage::kAlignment * UploadImage::kAlignment;
}

}  // namespace

void UploadImage::set(size_t section, std::span<const std::byte> bytes) {
  Section& old = sections_[section];
  if (bytes.size() > old.capacity) must_move_ = true;
  const size_t common = std::min(old.bytes.size(), bytes.size());
  const auto begin = bytes.begin();
  const auto common_end = begin + static_cast<std::ptrdiff_t>(common);
  const auto first =
      static_cast<size_t>(std::mismatch(begin, common_end, old.bytes.begin()).first - begin);
  size_t end = bytes.size();
  if (end <= old.bytes.size())
    while (end > first && bytes[end - 1] == old.bytes[end - 1]) --end;
  if (end > first) {
    // Keeps earlier changes that changes() has not returned yet.
    const bool has_changes = old.end_change > old.first_change;
    old.first_change = has_changes ? std::min(old.first_change, first) : first;
    old.end_change = has_changes ? std::max(old.end_change, end) : end;
  }
  old.bytes.assign(bytes.begin(), bytes.end());
  old.end_change = std::min(old.end_change, bytes.size());
}

void UploadImage::move_sections() {
  needed_bytes_ = 0;
  for (Section& section : sections_) {
    if (section.bytes.size() > section.capacity)
      section.capacity = aligned(section.bytes.size() + section.bytes.size() / 2);
    section.offset = needed_bytes_;
    needed_bytes_ += section.capacity;
    section.first_change = 0;
    section.end_change = section.bytes.size();
  }
  must_move_ = false;
}

UploadImage::Changes UploadImage::changes() {
  Changes changes{.has_moved = must_move_};
  if (must_move_) move_sections();
  changes.needed_bytes = needed_bytes_;
  for (Section& section : sections_) {
    if (section.end_change > section.first_change)
      changes.copies.push_back(
          {.offset = section.offset + section.first_change,
           .bytes = std::span<const std::byte>(section.bytes)
                        .subspan(section.first_change, section.end_change - section.first_change)});
    section.first_change = section.end_change = 0;
  }
  return changes;
}

}  // namespace reprise::kernels::cuda
