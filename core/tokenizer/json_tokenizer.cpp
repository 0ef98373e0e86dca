// Assembles the components of a tokenizer.json into a tokenizer.
#include "core/tokenizer/json_tokenizer.h"

#include <algorithm>
#include <limits>

#include "core/tokenizer/utf8.h"

namespace reprise::tokenizer {
namespace {

bool is_present(const JsonPlace& root, const std::string& key) {
  return !field_of(root.value, key).is_null();
}

// Returns a component of the file, or null. If it is of this type, `options` replace its own.
Value component(const Value& json, const char* key, const char* type, const Fields& options) {
  Value found = field_of(json, key);
  if (field_of(found, "type") == Value(type)) update(found.fields(), options);
  return found;
}

const Value& empty_list() {
  static const Value kEmpty = Values();
  return kEmpty;
}

}  // namespace

JsonTokenizer::JsonTokenizer(const Value& json, const std::string& source,
                             const TokenizerConfig& config) {
  const JsonPlace root{json, source, ""};
  JsonObject object = root.object();
  object.allow({"added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model",
                "truncation", "padding"});
  if (const std::string version = object.string("version", "1.0"); version != "1.0")
    raise("{}: key \"version\" is \"{}\", only \"1.0\" is supported", source, version);
  object.reject_unknown();
  if (config.splits_special)
    raise(
        "{}: \"split_special_tokens\" is true, which is not supported: set it to false to have the "
        "special tokens of texts found",
        config.source);
  model_ = make_model(root.child("model"));
  const Value normalizer = component(json, "normalizer", "BertNormalizer", config.bert_options);
  if (!normalizer.is_null()) normalizer_ = make_normalizer({normalizer, source, "normalizer"});
  const Value pre = component(json, "pre_tokenizer", "ByteLevel", config.byte_level_options);
  if (!pre.is_null()) pre_tokenizer_ = make_pre_tokenizer({pre, source, "pre_tokenizer"});
  if (is_present(root, "post_processor"))
    post_processor_ = PostProcessor(root.child("post_processor"));
  if (is_present(root, "decoder")) decoder_ = Decoder(root.child("decoder"));
  const JsonPlace added = is_present(root, "added_tokens")
                              ? root.child("added_tokens")
                              : JsonPlace{empty_list(), source, "added_tokens"};
  added_tokens_ = std::make_unique<AddedTokens>(added, config.added_tokens, model_->vocabulary(),
                                                normalizer_.get(), notes_);
  check_added_tokens(config, source, [&](const std::string& token) {
    return added_tokens_->find(std::string_view(token)) != nullptr;
  });
  note_ignored(root);
  const bool is_left = field_of(field_of(json, "truncation"), "direction") == Value("Left");
  truncates_left_ = config.truncates_left.value_or(is_left);
  read_special_ids(config);
}

// Adds a note if the file has settings of truncation or padding, which are not applied: they are
// meant for batches of a fixed shape, and a benchmark that silently cut its prompts would measure
// something else. transformers, too, applies these settings only if the caller asks.
void JsonTokenizer::note_ignored(const JsonPlace& root) {
  for (const char* key : {"truncation", "padding"}) {
    if (!is_present(root, key)) continue;
    if (!root.child(key).value.is_fields()) root.child(key).fail("must be null or an object");
    notes_.push_back(
        fmt::format("{}: \"{}\" is set in the file and not applied: texts keep their own length",
                    root.source, key));
  }
}

void JsonTokenizer::read_special_ids(const TokenizerConfig& config) {
  const auto id_of = [&](const char* key, const std::optional<std::string>& token, bool has_none,
                         std::initializer_list<const char*> usual) -> std::optional<int32_t> {
    if (has_none) return std::nullopt;
    if (token) {
      const auto id = token_id(*token);
      if (!id) notes_.push_back(missing_token_note(config, key, *token));
      return id;
    }
    for (const char* name : usual)
      if (const AddedToken* found = added_tokens_->find(std::string_view(name));
          found != nullptr && found->is_special)
        return found->id;
    return std::nullopt;
  };
  bos_id_ = id_of("bos_token", config.bos_token, config.has_no_bos,
                  {"<s>", "<|begin_of_text|>", "<|endoftext|>"});
  eos_id_ = id_of("eos_token", config.eos_token, config.has_no_eos,
                  {"</s>", "<|end_of_text|>", "<|endoftext|>"});
  const bool is_stated = config.add_bos_token || config.add_eos_token;
  if (!config.obeys_bos_and_eos() || !is_stated) return;
  const bool adds_bos = config.add_bos_token.value_or(false);
  const bool adds_eos = config.add_eos_token.value_or(false);
  // If there is no token to add, the file's own tokens stay.
  if ((adds_bos && !bos_id_) || (adds_eos && !eos_id_)) return;
  if (config.add_bos_token) post_processor_.set_first(adds_bos ? bos_id_ : std::nullopt);
  post_processor_.set_last(adds_eos ? eos_id_ : std::nullopt);
}

std::vector<int32_t> JsonTokenizer::encode(std::string_view text, EncodeOptions options) const {
  require_utf8(text, "the text to encode");
  Pieces pieces = cut(text);
  if (pre_tokenizer_) pre_tokenizer_->apply(pieces);
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 8);
  tokenize(pieces, ids);
  return post_processor_.apply(std::move(ids), options.add_special);
}

// Added tokens that are not normalized are found first, in the raw text.
Pieces JsonTokenizer::cut(std::string_view text) const {
  std::vector<TextPart> parts;
  added_tokens_->split(text, /*raw=*/true, parts);
  Pieces pieces;
  pieces.text.reserve(text.size() + 16);
  for (const TextPart& part : parts) {
    if (part.id >= 0) {
      pieces.list.push_back({pieces.text.size(), pieces.text.size(), part.id, part.begin == 0});
    } else {
      add_normalized(text.substr(part.begin, part.end - part.begin), part.begin == 0, pieces);
    }
  }
  return pieces;
}

// Normalized added tokens are found in the normalized text.
void JsonTokenizer::add_normalized(std::string_view text, bool is_start, Pieces& pieces) const {
  NormalizedText normal{std::string(text), is_start};
  if (normalizer_) normalizer_->apply(normal);
  const size_t base = pieces.text.size();
  pieces.text += normal.text;
  std::vector<TextPart> parts;
  added_tokens_->split(normal.text, /*raw=*/false, parts);
  for (const TextPart& part : parts)
    if (part.begin < part.end)
      pieces.list.push_back(
          {base + part.begin, base + part.end, part.id, normal.is_start && part.begin == 0});
}

void JsonTokenizer::tokenize(const Pieces& pieces, std::vector<int32_t>& ids) const {
  ModelWorkspace workspace;
  // If another thread holds the cache, this call does not use the cache. The ids are the same.
  const std::unique_lock lock(cache_mutex_, std::try_to_lock);
  for (const Piece& piece : pieces.list) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
      continue;
    }
    const std::string_view text = pieces.view(piece);
    if (text.empty() || (lock && cache_.find(text, ids))) continue;
    const size_t before = ids.size();
    model_->tokenize(text, workspace, ids);
    if (lock) cache_.insert(text, std::span(ids).subspan(before));
  }
}

// Decodes tokens as a stream through the file's decoder.
class JsonTokenizer::Stream final : public StreamDecoder {
 public:
  Stream(const JsonTokenizer& tokenizer, DecodeOptions options)
      : tokenizer_(tokenizer), options_(options), decoder_(tokenizer.decoder_.stream()) {}

  using StreamDecoder::flush;
  using StreamDecoder::push;
  void push(int32_t id, std::string& out) override {
    if (const AddedToken* added = tokenizer_.added_tokens_->find(id); added != nullptr) {
      if (!options_.skip_special || !added->is_special) decoder_.token(added->decoded, out);
      return;
    }
    const Vocabulary& vocabulary = tokenizer_.model_->vocabulary();
    if (vocabulary.has(id)) decoder_.token(vocabulary.text(id), out);
  }
  void flush(std::string& out) override { decoder_.finish(out); }

 private:
  const JsonTokenizer& tokenizer_;
  DecodeOptions options_;
  Decoder::Stream decoder_;
};

std::unique_ptr<StreamDecoder> JsonTokenizer::stream(DecodeOptions options) const {
  return std::make_unique<Stream>(*this, options);
}

std::string JsonTokenizer::token_text(int32_t id) const {
  const AddedToken* added = added_tokens_->find(id);
  return added != nullptr ? added->content : model_->vocabulary().text(id);
}

std::optional<int32_t> JsonTokenizer::token_id(std::string_view text) const {
  const AddedToken* added = added_tokens_->find(text);
  return added != nullptr ? std::optional<int32_t>(added->id) : model_->vocabulary().find(text);
}

int32_t JsonTokenizer::vocab_size() const {
  return std::max(model_->vocabulary().end_id(), added_tokens_->end_id());
}

}  // namespace reprise::tokenizer
