// The segments that the program segment_writer puts. Their states tell which segment they belong
// to.
#pragma once

#include <charconv>
#include <string>

#include "core/store/segment_store.h"
#include "tests/core/store/segment_testing.h"

namespace reprise::kv {

inline constexpr uint64_t kWriterKeys = 16;

inline SegmentKey writer_key(uint64_t index) {
  return {{.model = index % 2 == 0 ? "even" : "odd", .schema = "schema"}, std::to_string(index)};
}

// Every second segment is kept in eight bits.
inline SegmentForm writer_form(uint64_t index) {
  return index % 2 == 0 ? SegmentForm::kPlain : SegmentForm::kInt8;
}

// The states differ between generations of a key; the note tells the generation.
inline SegmentBuffer writer_segment(uint64_t index, uint64_t generation) {
  const SegmentShape shape = {.layers = 3,
                              .kv_heads = 2,
                              .tokens = 40 + static_cast<int64_t>(index),
                              .head_dim = 32,
                              .dtype = DType::kBF16};
  return finite_segment_of(index + kWriterKeys * generation, shape);
}

// True if a segment acquired under writer_key(index) is a whole one that segment_writer put there.
inline bool is_writers(const SegmentHandle& handle, uint64_t index) {
  const std::string& note = handle.note();
  uint64_t seed = 0;
  const char* end = note.data() + note.size();
  if (!note.starts_with("note ") || std::from_chars(note.data() + 5, end, seed).ptr != end ||
      seed % kWriterKeys != index)
    return false;
  const SegmentBuffer put = writer_segment(index, seed / kWriterKeys);
  if (handle.shape() != put.shape) return false;
  if (writer_form(index) == SegmentForm::kPlain) return equals(handle.view(), put);
  return equals(handle.view(), in_eight_bits(put));
}

}  // namespace reprise::kv
