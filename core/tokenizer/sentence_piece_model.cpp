// Reads a SentencePiece model from the protocol-buffer wire format and checks its values.
#include "core/tokenizer/sentence_piece_model.h"

#include <bit>
#include <cmath>
#include <unordered_set>

#include "core/base/error.h"
#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {
namespace {

constexpr size_t kMaxPieces = size_t{1} << 22;
// Upper bound on the bytes of one replacement. The longest replacement in Unicode has 33.
constexpr size_t kMaxReplacementBytes = 256;

// A protocol-buffer message in wire format: a sequence of (field number, wire type, value).
class Wire {
 public:
  Wire(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  struct Field {
    uint64_t number = 0;
    uint64_t integer = 0;   // value of wire types 0, 1 and 5
    std::string_view body;  // value of wire type 2
    uint64_t type = 0;
  };

  bool next(Field& field) {
    if (at_ >= bytes_.size()) return false;
    const uint64_t key = varint();
    field = {key >> 3, 0, {}, key & 7};
    if (field.number == 0 || key >> 32 != 0) fail();
    switch (field.type) {
      case 0:
        field.integer = varint();
        break;
      case 1:
        field.integer = fixed(8);
        break;
      case 2: {
        const uint64_t size = varint();
        if (size > bytes_.size() - at_) fail();
        field.body = bytes_.substr(at_, size);
        at_ += size;
        break;
      }
      case 5:
        field.integer = fixed(4);
        break;
      default:
        fail();
    }
    return true;
  }

 private:
  [[noreturn]] void fail() const {
    raise(
        "{} is not a SentencePiece model (or is damaged): bad field at byte {} of a message of {}",
        source_, at_, bytes_.size());
  }
  uint64_t fixed(size_t size) {
    if (size > bytes_.size() - at_) fail();
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value |= uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    at_ += size;
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ >= bytes_.size()) fail();
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    fail();
  }

  std::string_view bytes_;
  const std::string& source_;
  size_t at_ = 0;
};

void read_piece(std::string_view body, const std::string& source, SentencePieceModel& model) {
  SentencePieceModel::Piece piece;
  Wire wire(body, source);
  for (Wire::Field field; wire.next(field);) {
    if (field.number == 1 && field.type == 2) piece.text = field.body;
    if (field.number == 2 && field.type == 5)
      piece.score = std::bit_cast<float>(static_cast<uint32_t>(field.integer));
    if (field.number == 3 && field.type == 0) piece.type = static_cast<int64_t>(field.integer);
  }
  if (model.pieces.size() >= kMaxPieces) raise("{} has more than {} pieces", source, kMaxPieces);
  model.pieces.push_back(std::move(piece));
}

void read_trainer(std::string_view body, const std::string& source, SentencePieceModel& model) {
  Wire wire(body, source);
  for (Wire::Field field; wire.next(field);) {
    if (field.type == 0) {
      if (field.number == 3) model.model_type = static_cast<int64_t>(field.integer);
      if (field.number == 24) model.has_whitespace_suffix = field.integer != 0;
      if (field.number == 35) model.has_byte_fallback = field.integer != 0;
    } else if (field.type == 2) {
      if (field.number == 44) model.unknown_surface = field.body;
      if (field.number == 46) model.bos_piece = field.body;
      if (field.number == 47) model.eos_piece = field.body;
    }
  }
}

void read_normalizer(std::string_view body, const std::string& source, bool is_for_decoding,
                     SentencePieceModel& model) {
  Wire wire(body, source);
  for (Wire::Field field; wire.next(field);) {
    if (field.number == 2 && field.type == 2)
      (is_for_decoding ? model.decode_map : model.character_map) = field.body;
    if (is_for_decoding) continue;
    if (field.number == 1 && field.type == 2) model.normalizer_name = field.body;
    if (field.type != 0) continue;
    if (field.number == 3) model.adds_dummy_prefix = field.integer != 0;
    if (field.number == 4) model.removes_extra_spaces = field.integer != 0;
  }
}

void check_pieces(const SentencePieceModel& model, const std::string& source) {
  std::unordered_set<std::string_view> seen;
  size_t unknown = 0;
  size_t bytes = 0;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const auto& piece = model.pieces[id];
    require_utf8(piece.text, fmt::format("{}: piece {}", source, id));
    if (piece.text.empty() || piece.text.find('\0') != std::string::npos)
      raise("{}: piece {} is empty or contains a zero byte", source, id);
    if (!seen.insert(piece.text).second)
      raise("{}: piece {} \"{}\" appears twice", source, id, piece.text.substr(0, 100));
    if (piece.type < SentencePieceModel::kNormal || piece.type > SentencePieceModel::kByte)
      raise("{}: piece {} has the unknown type {}", source, id, piece.type);
    if (!std::isfinite(piece.score)) raise("{}: the score of piece {} is not finite", source, id);
    unknown += piece.type == SentencePieceModel::kUnknown;
    if (piece.type != SentencePieceModel::kByte) continue;
    ++bytes;
    if (!model.has_byte_fallback) raise("{}: piece {} is a byte without byte_fallback", source, id);
  }
  if (unknown != 1) raise("{} has {} unknown pieces, one is needed", source, unknown);
  if (!model.has_byte_fallback) return;
  if (bytes != 256) raise("{} has {} byte pieces, 256 are needed", source, bytes);
  for (int byte = 0; byte < 256; ++byte)
    if (!seen.contains(fmt::format("<0x{:02X}>", byte)))
      raise("{} has no byte piece <0x{:02X}>", source, byte);
}

// Checks a character map: four bytes with the trie's size, the trie (a double array of 32-bit
// units), and strings that end in zero. A unit with bit 31 clear leads from node i over byte b to
// unit i ^ offset ^ b. If its bit 8 is set, unit i ^ offset is a value: the replacement's position
// in the strings.
void check_character_map(const std::string& map, const std::string& source) {
  if (map.empty()) return;
  const auto fail = [&](const char* what) {
    raise("{}: the character map of its normalizer is damaged: {}", source, what);
  };
  const auto unit_at = [&](size_t byte) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i)
      value |= uint32_t{static_cast<unsigned char>(map[byte + i])} << (8 * i);
    return value;
  };
  if (map.size() <= 4) fail("too short");
  const size_t trie_bytes = unit_at(0);
  if (trie_bytes >= map.size() - 4 || trie_bytes % 4 != 0 || trie_bytes < 1024) fail("bad size");
  const size_t units = trie_bytes / 4;
  const std::string_view strings = std::string_view(map).substr(4 + trie_bytes);
  if (strings.back() != '\0') fail("unfinished string");
  for (size_t i = 0; i < units; ++i) {
    const uint32_t unit = unit_at(4 + 4 * i);
    if (unit >> 31 != 0) continue;  // the unit is a value, which leads to no further node
    const size_t base = i ^ (size_t{unit >> 10} << ((unit & 0x200u) >> 6));
    if ((base | 0xff) >= units) fail("a node outside the trie");
    if ((unit >> 8 & 1u) == 0) continue;
    const size_t value = unit_at(4 + 4 * base) & 0x7fffffffu;
    if (value >= strings.size()) fail("a replacement outside the strings");
    if (strings.find('\0', value) - value > kMaxReplacementBytes) fail("a replacement too long");
  }
}

}  // namespace

SentencePieceModel parse_sentence_piece(std::string_view bytes, const std::string& source) {
  SentencePieceModel model;
  Wire wire(bytes, source);
  for (Wire::Field field; wire.next(field);) {
    if (field.type != 2) continue;
    if (field.number == 1) read_piece(field.body, source, model);
    if (field.number == 2) read_trainer(field.body, source, model);
    if (field.number == 3) read_normalizer(field.body, source, false, model);
    if (field.number == 5) read_normalizer(field.body, source, true, model);
  }
  if (model.pieces.empty()) raise("{} is not a SentencePiece model: it has no pieces", source);
  if (model.model_type < 1 || model.model_type > 4)
    raise("{}: unknown model type {}", source, model.model_type);
  if (model.has_whitespace_suffix) raise("{}: treat_whitespace_as_suffix is not supported", source);
  if (!model.decode_map.empty()) raise("{}: a denormalizer is not supported", source);
  require_utf8(model.unknown_surface, source + ": unk_surface");
  check_pieces(model, source);
  check_character_map(model.character_map, source);
  return model;
}

}  // namespace reprise::tokenizer
