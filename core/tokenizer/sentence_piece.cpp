// Encodes with the SentencePiece library and decodes as a stream.
#include "core/tokenizer/sentence_piece.h"

#include <sentencepiece_processor.h>

#include "core/base/error.h"
#include "core/base/utf8_byte.h"
#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {
namespace {

using PieceType = SentencePieceModel::PieceType;
constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

std::optional<int32_t> find_control(const SentencePieceModel& model, const std::string& text) {
  for (size_t id = 0; id < model.pieces.size(); ++id)
    if (model.pieces[id].text == text && model.pieces[id].type == PieceType::kControl)
      return static_cast<int32_t>(id);
  return std::nullopt;
}

// Returns bytes that, behind a model, set a field of its normalizer_spec (field 3) to 0. The
// protocol-buffer parser merges them with the model's normalizer_spec.
std::string clearing(char field) { return {'\x1a', '\x02', static_cast<char>(field << 3), '\0'}; }

std::unique_ptr<sentencepiece::SentencePieceProcessor> loaded(const std::string& proto,
                                                              const std::string& source) {
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  try {
    const auto status = processor->LoadFromSerializedProto(proto);
    if (!status.ok()) raise("{}: SentencePiece refuses the model: {}", source, status.ToString());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    raise("{}: SentencePiece cannot load the model: {}", source, error.what());
  }
  return processor;
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(const std::string& bytes, const std::string& source,
                                               const TokenizerConfig& config)
    : source_(source), model_(parse_sentence_piece(bytes, source)) {
  constexpr char kAddDummyPrefix = 3, kRemoveExtraWhitespaces = 4;  // fields of normalizer_spec
  std::string proto = bytes;
  if (model_.drops_spaces_by_default()) {
    proto += clearing(kRemoveExtraWhitespaces);
    model_.removes_extra_spaces = false;
    notes_.push_back(source +
                     ": runs of spaces are kept, as Llama's runtimes do, although the model "
                     "says remove_extra_whitespaces");
  }
  if (!config.add_prefix_space) {
    proto += clearing(kAddDummyPrefix);
    model_.adds_dummy_prefix = false;
  }
  processor_ = loaded(proto, source);
  if (!config.legacy && model_.adds_dummy_prefix)
    unmarked_ = loaded(proto + clearing(kAddDummyPrefix), source);
  check_added_tokens(config, source, [&](const std::string& token) {
    const auto id = token_id(token);
    return id && model_.pieces[static_cast<size_t>(*id)].type != PieceType::kNormal;
  });
  const auto id_of = [&](const char* key, const std::optional<std::string>& token,
                         const std::string& piece) {
    if (!token) return find_control(model_, piece);
    const auto id = token_id(*token);
    if (!id) notes_.push_back(missing_token_note(config, key, *token));
    return id;
  };
  bos_id_ = id_of("bos_token", config.bos_token, model_.bos_piece);
  eos_id_ = id_of("eos_token", config.eos_token, model_.eos_piece);
  truncates_left_ = config.truncates_left.value_or(false);
  if (config.add_bos_token.value_or(true)) first_id_ = bos_id_;
  if (config.add_eos_token.value_or(false)) last_id_ = eos_id_;
  if (!config.surrounding) return;
  first_id_ = token_id(config.surrounding->first);
  last_id_ = token_id(config.surrounding->second);
  if (!first_id_ || !last_id_)
    raise("{} has no {} and {}, which stand around the texts of such a model", source,
          config.surrounding->first, config.surrounding->second);
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

std::vector<int32_t> SentencePieceTokenizer::encode(std::string_view text,
                                                    EncodeOptions options) const {
  require_utf8(text, "the text to encode");
  const auto& processor = options.follows_special && unmarked_ ? *unmarked_ : *processor_;
  std::vector<int> pieces;
  try {
    const auto status = processor.Encode({text.data(), text.size()}, &pieces);
    if (!status.ok()) raise("{}: SentencePiece cannot encode: {}", source_, status.ToString());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    raise("{}: SentencePiece cannot encode: {}", source_, error.what());
  }
  std::vector<int32_t> ids;
  ids.reserve(pieces.size() + 2);
  if (options.add_special && first_id_) ids.push_back(*first_id_);
  ids.insert(ids.end(), pieces.begin(), pieces.end());
  if (options.add_special && last_id_) ids.push_back(*last_id_);
  return ids;
}

// Drops the space mark that encoding put before the text. Holds bytes back until their character is
// complete. A byte that belongs to no character becomes U+FFFD.
class SentencePieceTokenizer::Stream final : public StreamDecoder {
 public:
  Stream(const SentencePieceModel& model, DecodeOptions options)
      : model_(model), options_(options) {}

  using StreamDecoder::flush;
  using StreamDecoder::push;
  void push(int32_t id, std::string& out) override {
    if (id < 0 || static_cast<size_t>(id) >= model_.pieces.size()) return;
    const auto& piece = model_.pieces[static_cast<size_t>(id)];
    if (piece.type == PieceType::kByte) {
      run_.push_back(static_cast<char>(std::stoi(piece.text.substr(3, 2), nullptr, 16)));
      emit_bytes(/*is_end=*/false, out);
      return;
    }
    emit_bytes(/*is_end=*/true, out);
    if (was_mark_dropped_) is_front_ = false;
    was_mark_dropped_ = false;
    switch (piece.type) {
      case PieceType::kControl:
        if (!options_.skip_special) emit(piece.text, out);
        return;
      case PieceType::kUnknown:
        return emit(model_.unknown_surface, out);
      default:
        return emit_text(piece.text, out);
    }
  }
  void flush(std::string& out) override { emit_bytes(/*is_end=*/true, out); }

 private:
  void emit(std::string_view text, std::string& out) {
    if (!text.empty()) is_front_ = false;
    out += text;
  }

  void emit_text(std::string_view text, std::string& out) {
    if (is_front_ && (model_.adds_dummy_prefix || model_.removes_extra_spaces) &&
        text.starts_with(kSpaceMark)) {
      text.remove_prefix(kSpaceMark.size());
      // For a model that removes extra spaces, all space marks before the first text are dropped.
      was_mark_dropped_ = !model_.removes_extra_spaces;
    }
    std::string spaced;
    for (size_t at = 0; at < text.size();) {
      const size_t mark = text.find(kSpaceMark, at);
      spaced += text.substr(at, mark == std::string_view::npos ? mark : mark - at);
      if (mark == std::string_view::npos) break;
      spaced += ' ';
      at = mark + kSpaceMark.size();
    }
    emit(spaced, out);
  }

  void emit_bytes(bool is_end, std::string& out) {
    size_t at = 0;
    while (at < run_.size()) {
      const auto lead = static_cast<unsigned char>(run_[at]);
      const size_t wanted = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      size_t have = 1;
      while (at + have < run_.size() && have < wanted && continues_character(run_[at + have]))
        ++have;
      if (have < wanted && at + have == run_.size() && !is_end)
        break;  // the bytes that follow may complete the character
      LossyUtf8 character;
      std::string text;
      character.push(std::string_view(run_).substr(at, have), text);
      character.flush(text);
      const bool is_valid = text.size() == have && run_.compare(at, have, text) == 0;
      emit(is_valid ? std::string_view(text) : kReplacement, out);
      at += is_valid ? have : 1;
    }
    run_.erase(0, at);
  }

  const SentencePieceModel& model_;
  DecodeOptions options_;
  std::string run_;  // bytes of an incomplete character
  bool is_front_ = true;
  bool was_mark_dropped_ = false;
};

std::unique_ptr<StreamDecoder> SentencePieceTokenizer::stream(DecodeOptions options) const {
  return std::make_unique<Stream>(model_, options);
}

std::string SentencePieceTokenizer::token_text(int32_t id) const {
  if (id < 0 || id >= vocab_size()) return "";
  return model_.pieces[static_cast<size_t>(id)].text;
}

std::optional<int32_t> SentencePieceTokenizer::token_id(std::string_view text) const {
  for (size_t id = 0; id < model_.pieces.size(); ++id)
    if (model_.pieces[id].text == text) return static_cast<int32_t>(id);
  return std::nullopt;
}

int32_t SentencePieceTokenizer::vocab_size() const {
  return static_cast<int32_t>(model_.pieces.size());
}

}  // namespace reprise::tokenizer
