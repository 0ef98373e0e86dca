// A segment stored as a file, either mapped and read in place or quantized to eight bits.
//
// Format 2, little-endian:
//   8 bytes   "RPRSEG2\n"
//   u64       number of bytes of the header
//   u64       XXH3 of magic, length and header
//   ...       header, a JSON object: model, tokenizer, schema, compute_dtype, module and note (each
//             a list of bytes); layers, kv_heads, tokens, head_dim, dtype, form, cost_s, created_s
//             and layer_hashes
//   ...       zeros to a multiple of 4096 bytes
//   layers    in the order in which a model needs them. Each begins at a multiple of 4096 bytes,
//             and each part of a layer at a multiple of 64 bytes:
//     kPlain    keys, values  [kv_heads, tokens, head_dim] each  dtype
//     kInt8     scales of keys, of values  [kv_heads, head_dim] each  f32;
//               keys, values  [kv_heads, tokens, head_dim] each  int8
// A layer's hash is the XXH3 of its parts' XXH3 hashes, as 16 hexadecimal digits.
//
// Format 1 is still read: "RPRSEG1\n"; a header with key, note, shape and two hashes; the keys of
// all layers, then the values of all layers, both beginning at a multiple of 4096 bytes. Its key is
// a module's name without identity (segment_key.h).
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

// The format that is written, and the newest one that is read.
inline constexpr int kSegmentFormat = 2;

// Thrown if a newer version of this program wrote the file or folder. It is not damaged and must
// not be removed.
class NewerFormatError : public Error {
 public:
  using Error::Error;
};

enum class SegmentForm : uint8_t {
  kPlain,  // the layout that kernels read
  kInt8    // eight-bit states, with a scale per (layer, head, channel): int8_channels.h
};

std::string_view name_of(SegmentForm form);  // "plain", "int8"
// Throws Error for an unknown name, with the nearest known one.
SegmentForm parse_segment_form(std::string_view name);

// The header of either format.
struct SegmentFileHeader {
  int format = kSegmentFormat;
  SegmentKey key;
  std::string note;
  SegmentShape shape;  // shape and dtype before quantization
  SegmentForm form = SegmentForm::kPlain;
  double cost_s = 0;                   // time that computing the states took; 0: unknown
  int64_t created_s = 0;               // since 1970; 0: unknown
  std::vector<uint64_t> layer_hashes;  // [layers]; format 1: {keys' hash, values' hash}
  // Hash of the header text including layer hashes, so it differs if the states differ.
  uint64_t text_hash = 0;
};

enum class Verify : uint8_t {
  kHeader,  // checks the header's hash and the file's size; check_layer() checks layers later
  kAll      // also checks the states' hashes, which reads the whole file
};

// An open segment file. Move-only; the states stay mapped while it lives, even if the file is
// removed or replaced.
class SegmentFile {
 public:
  // Throws Error naming the path and the fault: not a segment file, truncated, damaged, or
  // (NewerFormatError) of a newer format.
  SegmentFile(std::filesystem::path path, Verify verify);

  [[nodiscard]] const SegmentFileHeader& header() const { return header_; }
  [[nodiscard]] int64_t file_bytes() const { return static_cast<int64_t>(map_.bytes().size()); }

  // Returns a view of the states in the mapped file. Only for kPlain (CHECK).
  [[nodiscard]] CacheView view() const;
  // Throws Error naming the path and layer if the layer's states are damaged. The first call for a
  // layer reads the layer; later calls return at once. In format 1, whose hashes cover all layers,
  // the first call for any layer reads the whole file. Thread-safe.
  void check_layer(int64_t layer) const;
  void check_all() const;
  // Asks the system to read a layer ahead of its use. Returns at once.
  void fetch_layer(int64_t layer) const;
  // Returns a copy of the states in memory, in the dtype of header().shape. Checks each layer
  // before copying it.
  [[nodiscard]] SegmentBuffer read() const;

 private:
  enum class State : uint8_t { kUnknown, kSound, kDamaged };

  [[nodiscard]] bool is_sound(int64_t layer) const;
  void read_layer(int64_t layer, SegmentBuffer& segment) const;

  std::filesystem::path path_;
  MappedFile map_;
  SegmentFileHeader header_;
  // File offset of layer 0; in format 1: of the keys.
  size_t data_begin_ = 0;
  std::unique_ptr<std::atomic<State>[]> states_;  // [layers]
};

// Options of a segment's file, and data stored in its header besides the key.
struct SegmentFileOptions {
  SegmentForm form = SegmentForm::kPlain;
  double cost_s = 0;
};

// The content of a segment's file, ready to be written: hashed, and quantized if the form is kInt8.
class SegmentImage {
 public:
  // `segment` must outlive the image. Throws Error naming the layer if the form is kInt8 and a
  // state is NaN or infinite.
  SegmentImage(const SegmentKey& key, const SegmentBuffer& segment,
               const SegmentFileOptions& options);

  // Returns the size of the file in bytes.
  [[nodiscard]] int64_t bytes() const;
  // Writes the whole file. Throws Error if the system refuses, such as for a full disk.
  void write(AtomicFile& file) const;
  // Writes into `segment` the states that a reader of the file will get. `segment` must have the
  // shape of the image's segment and may be that segment itself.
  void restore(SegmentBuffer& segment) const;

 private:
  [[nodiscard]] std::vector<std::span<const std::byte>> parts_of(int64_t layer) const;

  const SegmentBuffer& segment_;
  SegmentForm form_;
  AlignedBuffer packed_;  // for kInt8: the states of all layers as stored in the file
  std::string text_;
};

// Writes a segment's file atomically (AtomicFile). Throws Error as SegmentImage and AtomicFile do.
void write_segment(const std::filesystem::path& path, const SegmentKey& key,
                   const SegmentBuffer& segment, const SegmentFileOptions& options = {});

}  // namespace reprise::kv
