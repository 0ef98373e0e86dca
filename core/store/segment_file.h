// A segment as a file that can be mapped into memory and read in place, or in eight bits.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/mapped_file.h"
#include "core/store/segment_buffer.h"
#include "core/store/segment_key.h"

namespace reprise::kv {

// The newest format that is read, and the one that is written.
inline constexpr int kSegmentFormat = 2;

// Something that a newer version of this program wrote: not damaged, and not ours to remove.
class NewerFormatError : public Error {
 public:
  using Error::Error;
};

enum class SegmentForm : uint8_t {
  kPlain,  // as kernels read it
  kInt8    // eight bits and a scale per (layer, head, channel): see int8_channels.h
};

std::string_view name_of(SegmentForm form);  // "plain", "int8"
// Throws Error with the nearest name.
SegmentForm parse_segment_form(std::string_view name);

// Format 2, little-endian:
//   8 bytes   "RPRSEG2\n"
//   u64       bytes of the header text
//   u64       XXH3 of magic, length and header text
//   ...       header: JSON with model, tokenizer, schema, compute_dtype, module, note (lists of
//             bytes), layers, kv_heads, tokens, head_dim, dtype, form, cost_s, created_s and
//             layer_hashes
//   ...       zeros to a multiple of 4096 bytes
//   layers    one after another, each from a multiple of 4096 bytes on, so that a file is read in
//             the order in which a model needs it. Parts of a layer begin at multiples of 64 bytes:
//     kPlain    keys, values  [kv_heads, tokens, head_dim] each  dtype
//     kInt8     scales of keys, of values  [kv_heads, head_dim] each  f32;
//               keys, values  [kv_heads, tokens, head_dim] each  int8
// A layer's hash is XXH3 of the XXH3 of its parts, as 16 hexadecimal digits.
//
// Format 1, which is still read: "RPRSEG1\n"; a header with key, note, the shape and two hashes;
// all layers' keys, then all layers' values, from a multiple of 4096 bytes on each. Its key is a
// module without identity.
struct SegmentFileHeader {
  int format = kSegmentFormat;
  SegmentKey key;
  std::string note;
  SegmentShape shape;  // as it was put, whatever the form
  SegmentForm form = SegmentForm::kPlain;
  double cost_s = 0;                   // that computing the states took; 0: not known
  int64_t created_s = 0;               // since 1970; 0: not known
  std::vector<uint64_t> layer_hashes;  // [layers]; of format 1: of all keys, of all values
  uint64_t text_hash = 0;              // two files with equal ones were written with equal states
};

enum class Verify : uint8_t {
  kHeader,  // the header's own hash and the file's size; a layer's states with check_layer()
  kAll      // the states' hashes too, which reads the whole file
};

// A file that has been opened and found sound as far as it was asked. Move-only; the states stay
// mapped for its life, even where the file is removed or replaced meanwhile.
class SegmentFile {
 public:
  // Throws Error naming the path and what is wrong with the file: not a segment, cut off, damaged,
  // of a newer format.
  SegmentFile(std::filesystem::path path, Verify verify);

  [[nodiscard]] const SegmentFileHeader& header() const { return header_; }
  [[nodiscard]] int64_t file_bytes() const { return static_cast<int64_t>(map_.bytes().size()); }

  // In place. Of the plain form alone (CHECK).
  [[nodiscard]] CacheView view() const;
  // Throws Error naming path and layer where the layer's states are not what was written. Reads
  // them the first time, and returns at once from then on. Of format 1, whose hashes cover all
  // layers, the first call reads the whole file. Thread-safe.
  void check_layer(int64_t layer) const;
  void check_all() const;
  // Asks the system to begin reading a layer. Returns at once.
  void fetch_layer(int64_t layer) const;
  // A copy in memory, in the dtype that was put. Checks each layer before it is copied.
  [[nodiscard]] SegmentBuffer read() const;

 private:
  enum class State : uint8_t { kUnknown, kSound, kDamaged };

  [[nodiscard]] bool is_sound(int64_t layer) const;
  void read_layer(int64_t layer, SegmentBuffer& segment) const;

  std::filesystem::path path_;
  MappedFile map_;
  SegmentFileHeader header_;
  size_t data_begin_ = 0;                         // of layer 0; of format 1: of the keys
  std::unique_ptr<std::atomic<State>[]> states_;  // [layers]
};

// What is written beside key and states.
struct SegmentFileOptions {
  SegmentForm form = SegmentForm::kPlain;
  double cost_s = 0;
};

// A segment that is ready to be written: quantized where that is asked for, and hashed.
class SegmentImage {
 public:
  // `segment` has to outlive the image. Throws Error, naming the layer, where the form cannot hold
  // a state: NaN and infinities in eight bits.
  SegmentImage(const SegmentKey& key, const SegmentBuffer& segment,
               const SegmentFileOptions& options);

  // Of the file.
  [[nodiscard]] int64_t bytes() const;
  // All of the file. Throws Error where the disk refuses.
  void write(AtomicFile& file) const;
  // The states as the file will give them back, into a segment of the same shape, which may be the
  // one that was given.
  void restore(SegmentBuffer& segment) const;

 private:
  [[nodiscard]] std::vector<std::span<const std::byte>> parts_of(int64_t layer) const;

  const SegmentBuffer& segment_;
  SegmentForm form_;
  AlignedBuffer packed_;  // kInt8: all layers, as the file has them
  std::string text_;
};

// Appears whole under `path` or not at all. Throws Error where the disk refuses.
void write_segment(const std::filesystem::path& path, const SegmentKey& key,
                   const SegmentBuffer& segment, const SegmentFileOptions& options = {});

}  // namespace reprise::kv
