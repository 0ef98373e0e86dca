#include "core/store/segment_header.h"

#include <xxhash.h>

#include <charconv>
#include <string_view>

#include "core/base/json.h"
#include "core/base/words.h"
#include "core/store/segment_layout.h"

namespace reprise::kv {
namespace {

// The magic is followed by the format's digit and a line feed.
constexpr std::string_view kMagic = "RPRSEG";
constexpr size_t kMagicBytes = kMagic.size() + 2;
constexpr size_t kTextBegin = kMagicBytes + 2 * sizeof(uint64_t);
// Upper bound on the length of a header in bytes. Real headers are far shorter, so a larger length
// means damage.
constexpr uint64_t kMostText = uint64_t{1} << 24;

std::string magic_of(int format) { return fmt::format("{}{}\n", kMagic, format); }

uint64_t hash_of_text(int format, const std::string& text) {
  std::string covered = magic_of(format);
  append_word(covered, uint64_t{text.size()});
  covered += text;
  return XXH3_64bits(covered.data(), covered.size());
}

// Returns a text as a list of bytes. Keys and notes are arbitrary bytes, but JSON text must be
// UTF-8.
Values list_of(const std::string& text) {
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  return {bytes.begin(), bytes.end()};
}

std::string bytes_of(JsonObject& object, const char* key) {
  std::string bytes;
  for (const int64_t byte : object.integers(key)) {
    if (byte < 0 || byte > 255) raise("{} holds {}, which is no byte", object.where(key), byte);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

uint64_t parse_word(const std::string& text) {
  uint64_t word = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), word, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 16)
    raise("\"{}\" is no hash", text);
  return word;
}

SegmentShape parse_shape(JsonObject& object) {
  const SegmentShape shape = {.layers = object.integer("layers"),
                              .kv_heads = object.integer("kv_heads"),
                              .tokens = object.integer("tokens"),
                              .head_dim = object.integer("head_dim"),
                              .dtype = parse_dtype(object.string("dtype"))};
  validate(shape);
  return shape;
}

SegmentFileHeader parse_format_1(JsonObject& object) {
  SegmentFileHeader header{.format = 1};
  header.key = bytes_of(object, "key");
  header.note = bytes_of(object, "note");
  header.shape = parse_shape(object);
  header.layer_hashes = {parse_word(object.string("keys_hash")),
                         parse_word(object.string("values_hash"))};
  return header;
}

SegmentFileHeader parse_format_2(JsonObject& object) {
  SegmentFileHeader header{.format = 2};
  header.key = {{.model = bytes_of(object, "model"),
                 .tokenizer = bytes_of(object, "tokenizer"),
                 .schema = bytes_of(object, "schema"),
                 .dtype = bytes_of(object, "compute_dtype")},
                bytes_of(object, "module")};
  header.note = bytes_of(object, "note");
  header.shape = parse_shape(object);
  header.form = parse_segment_form(object.string("form"));
  header.cost_s = object.number("cost_s");
  header.created_s = object.integer("created_s");
  for (const Value& hash : object.list("layer_hashes")) {
    if (!hash.is_text()) raise("{} is no hash", shown(hash));
    header.layer_hashes.push_back(parse_word(hash.text()));
  }
  if (header.layer_hashes.size() != static_cast<size_t>(header.shape.layers))
    raise("{} layer hashes, where there are {} layers", header.layer_hashes.size(),
          header.shape.layers);
  return header;
}

SegmentFileHeader parse_header(int format, std::string_view text) {
  const Value json = parse_json(text, "header");
  JsonObject object(json, "header");
  SegmentFileHeader header = format == 1 ? parse_format_1(object) : parse_format_2(object);
  object.reject_unknown();
  return header;
}

// Returns the size of a file that has this header.
size_t file_bytes_of(const SegmentFileHeader& header, size_t data_begin) {
  const size_t half = header.shape.half_bytes();
  if (header.format == 1) return data_begin + rounded_up(half, kFilePage) + half;
  return data_begin + layout_of(header.shape, header.form).data_bytes(header.shape.layers);
}

int format_of(const std::filesystem::path& path, std::span<const std::byte> file) {
  if (file.size() < kTextBegin) refuse_file(path, fmt::format("it has only {} bytes", file.size()));
  const std::string_view begin(reinterpret_cast<const char*>(file.data()), kMagicBytes);
  const char digit = begin[kMagic.size()];
  if (!begin.starts_with(kMagic) || begin.back() != '\n' || digit < '1' || digit > '9')
    refuse_file(path, "it does not begin as one");
  const int format = digit - '0';
  if (format > kSegmentFormat)
    throw NewerFormatError(fmt::format(
        "{} is of format {}, and this version reads formats 1 to {}. Use the version that wrote "
        "it, or another folder.",
        path.string(), format, kSegmentFormat));
  return format;
}

}  // namespace

void refuse_file(const std::filesystem::path& path, const std::string& fault) {
  raise("{} is no sound segment file: {}. Remove it; its states can be computed again.",
        path.string(), fault);
}

std::string header_text(const SegmentFileHeader& header) {
  const StoreIdentity& identity = header.key.identity;
  const SegmentShape& shape = header.shape;
  std::vector<std::string> hashes;
  for (const uint64_t hash : header.layer_hashes) hashes.push_back(fmt::format("{:016x}", hash));
  const std::string text = json_text(Fields{{"model", list_of(identity.model)},
                                            {"tokenizer", list_of(identity.tokenizer)},
                                            {"schema", list_of(identity.schema)},
                                            {"compute_dtype", list_of(identity.dtype)},
                                            {"module", list_of(header.key.module)},
                                            {"note", list_of(header.note)},
                                            {"layers", shape.layers},
                                            {"kv_heads", shape.kv_heads},
                                            {"tokens", shape.tokens},
                                            {"head_dim", shape.head_dim},
                                            {"dtype", std::string(name_of(shape.dtype))},
                                            {"form", std::string(name_of(header.form))},
                                            {"cost_s", header.cost_s},
                                            {"created_s", header.created_s},
                                            {"layer_hashes", hashes}});
  std::string bytes = magic_of(kSegmentFormat);
  append_word(bytes, uint64_t{text.size()});
  append_word(bytes, hash_of_text(kSegmentFormat, text));
  return bytes + text;
}

ParsedHeader read_header(const std::filesystem::path& path, std::span<const std::byte> file) {
  const int format = format_of(path, file);
  const uint64_t length = word_at<uint64_t>(file, kMagicBytes);
  if (length > kMostText || length > file.size() - kTextBegin)
    refuse_file(path, "its header is cut off or damaged");
  const std::string text(reinterpret_cast<const char*>(file.data()) + kTextBegin, length);
  const uint64_t hash = hash_of_text(format, text);
  if (hash != word_at<uint64_t>(file, kMagicBytes + sizeof(uint64_t)))
    refuse_file(path, "its header is damaged");
  ParsedHeader parsed;
  try {
    parsed.header = parse_header(format, text);
  } catch (const std::exception& error) {
    refuse_file(path, std::string("its header makes no sense: ") + error.what());
  }
  parsed.header.text_hash = hash;
  parsed.data_begin = rounded_up(kTextBegin + text.size(), kFilePage);
  const size_t whole = file_bytes_of(parsed.header, parsed.data_begin);
  if (file.size() != whole)
    refuse_file(path, fmt::format("{} bytes, where {} make a file of {} ({})", file.size(), whole,
                                  text_of(parsed.header.shape), name_of(parsed.header.form)));
  return parsed;
}

}  // namespace reprise::kv
