// Finds out which kind of tokenizer a path contains, and loads it.
#include "core/tokenizer/tokenizer.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tokenizer/json_tokenizer.h"
#include "core/tokenizer/older_files.h"
#include "core/tokenizer/sentence_piece.h"
#include "core/tokenizer/tokenizer_config.h"

namespace reprise {
namespace {

constexpr size_t kMaxFileBytes = size_t{256} << 20;

// True if the first line is that of a tiktoken-style rank file: base64, one space, a number.
bool is_rank_file(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 >= line.size()) return false;
  const auto all = [](std::string_view text, auto&& accepts) {
    return std::all_of(text.begin(), text.end(),
                       [&](char c) { return accepts(static_cast<unsigned char>(c)); });
  };
  return all(line.substr(0, space),
             [](int c) { return std::isalnum(c) != 0 || c == '+' || c == '/' || c == '='; }) &&
         all(line.substr(space + 1), [](int c) { return std::isdigit(c) != 0 || c == '\r'; });
}

// True for a unigram model's tokenizer.json if the same folder has the SentencePiece model from
// which it was made.
bool is_of_sentence_piece(const Value& json, const std::filesystem::path& spm) {
  std::error_code error;
  return field_of(field_of(json, "model"), "type") == Value("Unigram") &&
         std::filesystem::exists(spm, error);
}

// Sets what spm.model does not say. DeBERTa's second and third version put BERT's special tokens
// around a text, and have a token [MASK] beside the model, which texts contain only in training.
// Throws Error if the folder's settings change texts before the model cuts them.
void apply_deberta(tokenizer::TokenizerConfig& config) {
  config.surrounding = {"[CLS]", "[SEP]"};
  std::erase_if(config.added_tokens, [](const tokenizer::SettingsToken& added) {
    return added.token.content == "[MASK]";
  });
  if (config.source.empty()) return;
  const Value json = read_json(config.source);
  JsonObject object(json, config.source);
  for (const char* key : {"do_lower_case", "split_by_punct"})
    if (object.boolean(key, false))
      raise(
          "{} is true, which is not supported with spm.model; use a checkpoint in which it is "
          "false, as in deberta-v3",
          object.where(key));
}

std::unique_ptr<Tokenizer> load_file(const std::filesystem::path& path) {
  const std::string bytes = read_file(path, kMaxFileBytes);
  auto config = tokenizer::read_tokenizer_config(path.parent_path());
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  if (path.extension() == ".json" || (first != std::string::npos && bytes[first] == '{')) {
    const Value json = parse_json(bytes, path.string());
    const std::filesystem::path spm = path.parent_path() / "spm.model";
    if (is_of_sentence_piece(json, spm)) return load_file(spm);
    return std::make_unique<tokenizer::JsonTokenizer>(json, path.string(), config);
  }
  if (is_rank_file(bytes))
    raise(
        "{} is a list of tiktoken ranks (Llama 3's original release), which does not say how text "
        "is cut; use the tokenizer.json of the same checkpoint",
        path.string());
  if (path.filename() == "spm.model") apply_deberta(config);
  return std::make_unique<tokenizer::SentencePieceTokenizer>(bytes, path.string(), config);
}

}  // namespace

std::string Tokenizer::decode(std::span<const int32_t> ids, DecodeOptions options) const {
  std::string text;
  const auto decoder = stream(options);
  for (const int32_t id : ids) decoder->push(id, text);
  decoder->flush(text);
  return text;
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    raise(
        "no tokenizer at {}: neither a folder nor a file. Name a checkpoint's folder; a shape of "
        "`reprise list models` has no tokenizer",
        path.string());
  if (!std::filesystem::is_directory(path, error)) return load_file(path);
  for (const char* name : {"tokenizer.json", "tokenizer.model", "spm.model"})
    if (std::filesystem::exists(path / name, error)) return load_file(path / name);
  if (const auto older = tokenizer::read_older_files(path))
    return std::make_unique<tokenizer::JsonTokenizer>(older->json, older->source.string(),
                                                      tokenizer::read_tokenizer_config(path));
  raise(
      "{} has neither tokenizer.json nor tokenizer.model, nor an older form of them (spm.model, "
      "vocab.txt, vocab.json with merges.txt); save the tokenizer in the \"fast\" form to get a "
      "tokenizer.json",
      path.string());
}

}  // namespace reprise
