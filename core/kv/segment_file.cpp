#include "core/kv/segment_file.h"

#include <xxhash.h>

#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::kv {
namespace {

constexpr std::string_view kMagic = "RPRSEG1\n";
constexpr size_t kPage = 4096;
constexpr size_t kTextBegin = kMagic.size() + 2 * sizeof(uint64_t);
// No header is near this long: a damaged length is not taken for one.
constexpr uint64_t kMostText = uint64_t{1} << 24;

size_t page_end(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

uint64_t hash_of(const void* data, size_t bytes) { return XXH3_64bits(data, bytes); }

std::string word_text(uint64_t word) { return fmt::format("{:016x}", word); }

uint64_t hash_of_text(const std::string& text) {
  const uint64_t length = text.size();
  std::string covered(kMagic);
  covered.append(reinterpret_cast<const char*>(&length), sizeof length);
  covered += text;
  return hash_of(covered.data(), covered.size());
}

std::string header_text(const std::string& key, const SegmentBuffer& segment, uint64_t keys_hash,
                        uint64_t values_hash) {
  const SegmentShape& shape = segment.shape;
  // Keys and notes are bytes of any kind; JSON holds UTF-8.
  const auto bytes = [](const std::string& text) {
    return Json(std::vector<uint8_t>(text.begin(), text.end()));
  };
  return Json{{"key", bytes(key)},
              {"note", bytes(segment.note)},
              {"layers", shape.layers},
              {"kv_heads", shape.kv_heads},
              {"tokens", shape.tokens},
              {"head_dim", shape.head_dim},
              {"dtype", std::string(name_of(shape.dtype))},
              {"keys_hash", word_text(keys_hash)},
              {"values_hash", word_text(values_hash)}}
      .dump();
}

uint64_t word_at(std::span<const std::byte> bytes, size_t offset) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

std::string bytes_of(const Json& list) {
  const auto bytes = list.get<std::vector<uint8_t>>();
  return {bytes.begin(), bytes.end()};
}

uint64_t parse_word(const std::string& text) {
  uint64_t word = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), word, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 16)
    raise("\"{}\" is no hash", text);
  return word;
}

SegmentFileHeader parse_header(std::string_view text) {
  const Json json = parse_json(text, "header");
  JsonObject object(json, "header");
  SegmentFileHeader header;
  header.key = bytes_of(object.at("key"));
  header.note = bytes_of(object.at("note"));
  header.shape = {.layers = object.integer("layers"),
                  .kv_heads = object.integer("kv_heads"),
                  .tokens = object.integer("tokens"),
                  .head_dim = object.integer("head_dim"),
                  .dtype = parse_dtype(object.string("dtype"))};
  validate(header.shape);
  header.keys_hash = parse_word(object.string("keys_hash"));
  header.values_hash = parse_word(object.string("values_hash"));
  object.reject_unknown();
  header.keys_begin = page_end(kTextBegin + text.size());
  header.values_begin = header.keys_begin + page_end(header.shape.half_bytes());
  return header;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& fault) {
  raise("{} is no sound segment file: {}. Remove it; its states can be computed again.",
        path.string(), fault);
}

SegmentFileHeader read_header(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  if (bytes.size() < kTextBegin) refuse(path, fmt::format("it has only {} bytes", bytes.size()));
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    refuse(path, "it does not begin as one of this version");
  const uint64_t length = word_at(bytes, kMagic.size());
  if (length > kMostText || length > bytes.size() - kTextBegin)
    refuse(path, "its header is cut off or damaged");
  const std::string text(reinterpret_cast<const char*>(bytes.data()) + kTextBegin, length);
  if (hash_of_text(text) != word_at(bytes, kMagic.size() + sizeof(uint64_t)))
    refuse(path, "its header is damaged");
  SegmentFileHeader header;
  try {
    header = parse_header(text);
  } catch (const std::exception& error) {
    refuse(path, std::string("its header makes no sense: ") + error.what());
  }
  const size_t whole = header.values_begin + header.shape.half_bytes();
  if (bytes.size() != whole)
    refuse(path, fmt::format("{} bytes, where {} make a file of {}", bytes.size(), whole,
                             text_of(header.shape)));
  return header;
}

void write_padding(AtomicFile& file) {
  const std::string zeros(page_end(file.bytes_written()) - file.bytes_written(), '\0');
  file.write(zeros);
}

std::span<const std::byte> bytes_of(const AlignedBuffer& buffer, size_t bytes) {
  return {buffer.as<std::byte>(), bytes};
}

}  // namespace

SegmentFile::SegmentFile(const std::filesystem::path& path, Verify verify)
    : map_(path), header_(read_header(path, map_.bytes())) {
  if (verify == Verify::kHeader) return;
  const size_t half = header_.shape.half_bytes();
  const std::byte* data = map_.bytes().data();
  if (hash_of(data + header_.keys_begin, half) != header_.keys_hash)
    refuse(path, "its keys are damaged");
  if (hash_of(data + header_.values_begin, half) != header_.values_hash)
    refuse(path, "its values are damaged");
}

CacheView SegmentFile::view() const {
  const std::byte* data = map_.bytes().data();
  return view_of(header_.shape, data + header_.keys_begin, data + header_.values_begin);
}

SegmentBuffer SegmentFile::read() const {
  SegmentBuffer segment(header_.shape);
  const CacheView mapped = view();
  std::memcpy(segment.keys.data(), mapped.keys, header_.shape.half_bytes());
  std::memcpy(segment.values.data(), mapped.values, header_.shape.half_bytes());
  segment.note = header_.note;
  return segment;
}

void write_segment(const std::filesystem::path& path, const std::string& key,
                   const SegmentBuffer& segment) {
  const size_t half = segment.shape.half_bytes();
  const std::string text = header_text(key, segment, hash_of(segment.keys.data(), half),
                                       hash_of(segment.values.data(), half));
  const uint64_t words[] = {text.size(), hash_of_text(text)};
  AtomicFile file(path);
  file.write(kMagic);
  file.write(std::as_bytes(std::span(words)));
  file.write(text);
  write_padding(file);
  file.write(bytes_of(segment.keys, half));
  write_padding(file);
  file.write(bytes_of(segment.values, half));
  file.commit();
}

int64_t segment_file_bytes(const std::string& key, const SegmentBuffer& segment) {
  const size_t half = segment.shape.half_bytes();
  return static_cast<int64_t>(page_end(kTextBegin + header_text(key, segment, 0, 0).size()) +
                              page_end(half) + half);
}

}  // namespace reprise::kv
