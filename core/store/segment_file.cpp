#include "core/store/segment_file.h"

#include <xxhash.h>

#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/store/int8_channels.h"
#include "core/store/segment_header.h"
#include "core/store/segment_layout.h"

namespace reprise::kv {
namespace {

uint64_t hash_of(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

uint64_t hash_of_parts(const std::vector<std::span<const std::byte>>& parts) {
  std::vector<uint64_t> hashes;
  for (const auto& part : parts) hashes.push_back(hash_of(part.data(), part.size()));
  return hash_of(hashes.data(), hashes.size() * sizeof(uint64_t));
}

// Bytes of the keys of one layer; the values have as many.
size_t half_layer_bytes(const SegmentShape& shape) {
  return shape.half_bytes() / static_cast<size_t>(shape.layers);
}

std::byte* layer_of(AlignedBuffer& half, const SegmentShape& shape, int64_t layer) {
  return half.as<std::byte>() + static_cast<size_t>(layer) * half_layer_bytes(shape);
}

const std::byte* layer_of(const AlignedBuffer& half, const SegmentShape& shape, int64_t layer) {
  return half.as<std::byte>() + static_cast<size_t>(layer) * half_layer_bytes(shape);
}

// Quantizes the keys and values of a layer and writes them to `to`, arranged by the layout.
void quantize_layer(const SegmentBuffer& segment, int64_t layer, const SegmentLayout& layout,
                    std::byte* to) {
  const SegmentShape& shape = segment.shape;
  const int64_t head_elements = shape.tokens * shape.head_dim;
  for (size_t half = 0; half < 2; ++half) {
    const std::byte* from = layer_of(half == 0 ? segment.keys : segment.values, shape, layer);
    auto* scales = reinterpret_cast<float*>(to + layout.parts[half].begin);
    auto* quantized = reinterpret_cast<int8_t*>(to + layout.parts[2 + half].begin);
    for (int64_t head = 0; head < shape.kv_heads; ++head)
      if (!quantize_head(from + static_cast<size_t>(head * head_elements) * size_of(shape.dtype),
                         shape.dtype, shape.tokens, shape.head_dim,
                         quantized + head * head_elements, scales + head * shape.head_dim))
        raise(
            "the {} of layer {}, head {} hold NaN or infinity, which eight bits cannot: the model "
            "has overflowed. Keep such segments in the form \"plain\".",
            half == 0 ? "keys" : "values", layer, head);
  }
}

void dequantize_layer(const std::byte* from, int64_t layer, const SegmentLayout& layout,
                      SegmentBuffer& segment) {
  const SegmentShape& shape = segment.shape;
  const int64_t head_elements = shape.tokens * shape.head_dim;
  for (size_t half = 0; half < 2; ++half) {
    std::byte* to = layer_of(half == 0 ? segment.keys : segment.values, shape, layer);
    const auto* scales = reinterpret_cast<const float*>(from + layout.parts[half].begin);
    const auto* quantized = reinterpret_cast<const int8_t*>(from + layout.parts[2 + half].begin);
    for (int64_t head = 0; head < shape.kv_heads; ++head)
      dequantize_head(quantized + head * head_elements, scales + head * shape.head_dim,
                      shape.tokens, shape.head_dim, shape.dtype,
                      to + static_cast<size_t>(head * head_elements) * size_of(shape.dtype));
  }
}

std::vector<std::span<const std::byte>> parts_at(const std::byte* layer,
                                                 const SegmentLayout& layout) {
  std::vector<std::span<const std::byte>> parts;
  for (const LayerPart& part : layout.parts) parts.push_back({layer + part.begin, part.bytes});
  return parts;
}

// Writes zeros up to the file offset `place`.
void pad_to(AtomicFile& file, size_t place) {
  const std::string zeros(place - file.bytes_written(), '\0');
  file.write(zeros);
}

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string_view name_of(SegmentForm form) { return form == SegmentForm::kInt8 ? "int8" : "plain"; }

SegmentForm parse_segment_form(std::string_view name) {
  for (const SegmentForm form : {SegmentForm::kPlain, SegmentForm::kInt8})
    if (name == name_of(form)) return form;
  const std::array<std::string, 2> known = {"plain", "int8"};
  raise("{}", unknown_name("form of a segment", name, known));
}

SegmentFile::SegmentFile(std::filesystem::path path, Verify verify)
    : path_(std::move(path)), map_(path_) {
  ParsedHeader parsed = read_header(path_, map_.bytes());
  header_ = std::move(parsed.header);
  data_begin_ = parsed.data_begin;
  states_ = std::make_unique<std::atomic<State>[]>(static_cast<size_t>(header_.shape.layers));
  if (verify == Verify::kAll) check_all();
}

CacheView SegmentFile::view() const {
  REPRISE_CHECK(header_.form == SegmentForm::kPlain, "{} is read, not viewed", path_.string());
  const std::byte* data = map_.bytes().data() + data_begin_;
  if (header_.format == 1)
    return view_of(header_.shape, data, data + rounded_up(header_.shape.half_bytes(), kFilePage));
  const SegmentLayout layout = layout_of(header_.shape, header_.form);
  CacheView view =
      view_of(header_.shape, data + layout.parts[0].begin, data + layout.parts[1].begin);
  view.layer_stride = static_cast<int64_t>(layout.layer_stride / size_of(header_.shape.dtype));
  return view;
}

bool SegmentFile::is_sound(int64_t layer) const {
  const std::byte* data = map_.bytes().data() + data_begin_;
  if (header_.format == 1) {
    const size_t half = header_.shape.half_bytes();
    return hash_of(data, half) == header_.layer_hashes[0] &&
           hash_of(data + rounded_up(half, kFilePage), half) == header_.layer_hashes[1];
  }
  const SegmentLayout layout = layout_of(header_.shape, header_.form);
  return hash_of_parts(parts_at(data + static_cast<size_t>(layer) * layout.layer_stride, layout)) ==
         header_.layer_hashes[static_cast<size_t>(layer)];
}

void SegmentFile::check_layer(int64_t layer) const {
  REPRISE_CHECK(layer >= 0 && layer < header_.shape.layers, "layer {} of {}", layer,
                header_.shape.layers);
  const bool is_one = header_.format == 1;  // in format 1 one check covers all layers
  std::atomic<State>& state = states_[is_one ? 0 : static_cast<size_t>(layer)];
  State known = state.load(std::memory_order_acquire);
  if (known == State::kUnknown) {
    known = is_sound(layer) ? State::kSound : State::kDamaged;
    state.store(known, std::memory_order_release);
  }
  if (known == State::kDamaged)
    refuse_file(path_, is_one ? std::string("its states are damaged")
                              : fmt::format("its layer {} is damaged", layer));
}

void SegmentFile::fetch_layer(int64_t layer) const {
  if (header_.format == 1) {  // keys of all layers, then values
    if (layer == 0) map_.fetch(0, map_.bytes().size());
    return;
  }
  const SegmentLayout layout = layout_of(header_.shape, header_.form);
  map_.fetch(data_begin_ + static_cast<size_t>(layer) * layout.layer_stride, layout.layer_bytes);
}

void SegmentFile::check_all() const {
  for (int64_t layer = 0; layer < header_.shape.layers; ++layer) check_layer(layer);
}

void SegmentFile::read_layer(int64_t layer, SegmentBuffer& segment) const {
  check_layer(layer);
  const SegmentShape& shape = header_.shape;
  if (header_.form == SegmentForm::kInt8) {
    const SegmentLayout layout = layout_of(shape, header_.form);
    const std::byte* from = map_.bytes().data() + data_begin_;
    dequantize_layer(from + static_cast<size_t>(layer) * layout.layer_stride, layer, layout,
                     segment);
    return;
  }
  const CacheView mapped = view();
  const size_t from = static_cast<size_t>(layer * mapped.layer_stride) * size_of(shape.dtype);
  const size_t bytes = half_layer_bytes(shape);
  std::memcpy(layer_of(segment.keys, shape, layer),
              static_cast<const std::byte*>(mapped.keys) + from, bytes);
  std::memcpy(layer_of(segment.values, shape, layer),
              static_cast<const std::byte*>(mapped.values) + from, bytes);
}

SegmentBuffer SegmentFile::read() const {
  SegmentBuffer segment(header_.shape);
  for (int64_t layer = 0; layer < header_.shape.layers; ++layer) read_layer(layer, segment);
  segment.note = header_.note;
  return segment;
}

SegmentImage::SegmentImage(const SegmentKey& key, const SegmentBuffer& segment,
                           const SegmentFileOptions& options)
    : segment_(segment), form_(options.form) {
  const SegmentShape& shape = segment.shape;
  const SegmentLayout layout = layout_of(shape, form_);
  if (form_ == SegmentForm::kInt8) {
    packed_ = AlignedBuffer(layout.data_bytes(shape.layers));
    for (int64_t layer = 0; layer < shape.layers; ++layer)
      quantize_layer(segment, layer, layout,
                     packed_.as<std::byte>() + static_cast<size_t>(layer) * layout.layer_stride);
  }
  SegmentFileHeader header{.key = key,
                           .note = segment.note,
                           .shape = shape,
                           .form = form_,
                           .cost_s = options.cost_s,
                           .created_s = seconds_now()};
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    header.layer_hashes.push_back(hash_of_parts(parts_of(layer)));
  text_ = header_text(header);
}

std::vector<std::span<const std::byte>> SegmentImage::parts_of(int64_t layer) const {
  const SegmentShape& shape = segment_.shape;
  if (form_ == SegmentForm::kInt8) {
    const SegmentLayout layout = layout_of(shape, form_);
    return parts_at(packed_.as<std::byte>() + static_cast<size_t>(layer) * layout.layer_stride,
                    layout);
  }
  const size_t bytes = half_layer_bytes(shape);
  return {{layer_of(segment_.keys, shape, layer), bytes},
          {layer_of(segment_.values, shape, layer), bytes}};
}

int64_t SegmentImage::bytes() const {
  return static_cast<int64_t>(rounded_up(text_.size(), kFilePage) +
                              layout_of(segment_.shape, form_).data_bytes(segment_.shape.layers));
}

void SegmentImage::write(AtomicFile& file) const {
  file.write(text_);
  const size_t data_begin = rounded_up(text_.size(), kFilePage);
  const SegmentLayout layout = layout_of(segment_.shape, form_);
  for (int64_t layer = 0; layer < segment_.shape.layers; ++layer) {
    const size_t layer_begin = data_begin + static_cast<size_t>(layer) * layout.layer_stride;
    const auto parts = parts_of(layer);
    for (size_t i = 0; i < parts.size(); ++i) {
      pad_to(file, layer_begin + layout.parts[i].begin);
      file.write(parts[i]);
    }
  }
}

void SegmentImage::restore(SegmentBuffer& segment) const {
  REPRISE_CHECK(segment.shape == segment_.shape);
  const SegmentLayout layout = layout_of(segment_.shape, form_);
  for (int64_t layer = 0; layer < segment_.shape.layers; ++layer) {
    if (form_ == SegmentForm::kInt8) {
      dequantize_layer(packed_.as<std::byte>() + static_cast<size_t>(layer) * layout.layer_stride,
                       layer, layout, segment);
    } else if (&segment != &segment_) {
      const auto parts = parts_of(layer);
      std::memcpy(layer_of(segment.keys, segment.shape, layer), parts[0].data(), parts[0].size());
      std::memcpy(layer_of(segment.values, segment.shape, layer), parts[1].data(), parts[1].size());
    }
  }
}

void write_segment(const std::filesystem::path& path, const SegmentKey& key,
                   const SegmentBuffer& segment, const SegmentFileOptions& options) {
  const SegmentImage image(key, segment, options);
  AtomicFile file(path);
  image.write(file);
  file.commit();
}

}  // namespace reprise::kv
