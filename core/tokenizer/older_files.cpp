#include "core/tokenizer/older_files.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"

namespace reprise::tokenizer {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = size_t{64} << 20;

// Calls fn(line) for each line without its line feed. As in Python, a carriage return before it is
// removed too.
template <typename Fn>
void for_lines(std::string_view text, Fn&& fn) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    fn(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

Json added_token(const std::string& text, const Json& id) {
  return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

// Returns entries for those of `names` that the vocabulary has.
Json added_tokens(const Json& vocabulary, std::initializer_list<const char*> names) {
  Json added = Json::array();
  for (const char* name : names)
    if (vocabulary.contains(name)) added.push_back(added_token(name, vocabulary[name]));
  return added;
}

Json around(const Json& vocabulary, const char* first, const char* last) {
  return {{"type", "BertProcessing"},
          {"cls", Json::array({first, vocabulary[first]})},
          {"sep", Json::array({last, vocabulary[last]})}};
}

// Returns BERT's normalizer. A flag that the file lacks has transformers' default.
Json bert_normalizer(const fs::path& folder) {
  Json normalizer = {{"type", "BertNormalizer"},
                     {"clean_text", true},
                     {"handle_chinese_chars", true},
                     {"strip_accents", nullptr},
                     {"lowercase", true}};
  const fs::path path = folder / "tokenizer_config.json";
  std::error_code error;
  if (!fs::exists(path, error)) return normalizer;
  const Json json = read_json(path);
  JsonObject object(json, path.string());
  normalizer["lowercase"] = object.boolean("do_lower_case", true);
  normalizer["handle_chinese_chars"] = object.boolean("tokenize_chinese_chars", true);
  if (object.has("strip_accents"))
    normalizer["strip_accents"] = object.boolean("strip_accents", false);
  return normalizer;
}

Json read_word_pieces(const fs::path& file) {
  Json vocabulary = Json::object();
  int64_t id = 0;
  for_lines(read_file(file, kMostBytes), [&](std::string_view line) {
    if (!vocabulary.emplace(std::string(line), id).second)
      raise("{}:{}: token \"{}\" is there twice", file.string(), id + 1, line.substr(0, 100));
    ++id;
  });
  for (const char* name : {"[UNK]", "[CLS]", "[SEP]"})
    if (!vocabulary.contains(name))
      raise("{} has no token {}: it is no vocabulary of BERT", file.string(), name);
  return vocabulary;
}

Json word_piece(const fs::path& folder) {
  const Json vocabulary = read_word_pieces(folder / "vocab.txt");
  return {
      {"version", "1.0"},
      {"added_tokens", added_tokens(vocabulary, {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})},
      {"normalizer", bert_normalizer(folder)},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor", around(vocabulary, "[CLS]", "[SEP]")},
      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
      {"model",
       {{"type", "WordPiece"},
        {"unk_token", "[UNK]"},
        {"continuing_subword_prefix", "##"},
        {"max_input_chars_per_word", 100},
        {"vocab", vocabulary}}}};
}

// The file may begin with "#version: ..."; each further line is a merge.
Json read_merges(const fs::path& file) {
  Json merges = Json::array();
  bool is_first = true;
  for_lines(read_file(file, kMostBytes), [&](std::string_view line) {
    const bool is_version = std::exchange(is_first, false) && line.starts_with("#version");
    if (!line.empty() && !is_version) merges.push_back(std::string(line));
  });
  return merges;
}

Json byte_level_bpe(const fs::path& folder) {
  const fs::path file = folder / "vocab.json";
  const Json vocabulary = parse_json(read_file(file, kMostBytes), file.string());
  if (!vocabulary.is_object()) raise("{}: expected an object of tokens and ids", file.string());
  const auto has = [&](const char* a, const char* b) {
    return vocabulary.contains(a) && vocabulary.contains(b);
  };
  Json post = nullptr;
  if (has("[CLS]", "[SEP]")) {
    post = around(vocabulary, "[CLS]", "[SEP]");
  } else if (has("<s>", "</s>")) {
    post = around(vocabulary, "<s>", "</s>");
  }
  Json json = {
      {"version", "1.0"},
      {"added_tokens", added_tokens(vocabulary, {"<s>", "<pad>", "</s>", "<unk>", "<mask>", "[PAD]",
                                                 "[UNK]", "[CLS]", "[SEP]", "[MASK]"})},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"post_processor", post},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model",
       {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", read_merges(folder / "merges.txt")}}}};
  // The mask token takes the space before it.
  for (Json& added : json["added_tokens"])
    if (added["content"] == "<mask>" || added["content"] == "[MASK]") added["lstrip"] = true;
  return json;
}

}  // namespace

std::optional<OlderFiles> read_older_files(const fs::path& folder) {
  std::error_code error;
  const auto has = [&](const char* name) { return fs::exists(folder / name, error); };
  if (has("vocab.txt")) return OlderFiles{folder / "vocab.txt", word_piece(folder)};
  if (has("vocab.json") && has("merges.txt"))
    return OlderFiles{folder / "vocab.json", byte_level_bpe(folder)};
  return std::nullopt;
}

}  // namespace reprise::tokenizer
