#include "core/tokenizer/older_files.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"

namespace reprise::tokenizer {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = size_t{64} << 20;

// Calls fn(line) for each line without its line feed. As in Python, also removes a carriage return
// before the line feed.
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

// Returns the object in a file of settings, or an empty one if there is no such file.
Value read_settings(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error) ? read_json(file) : Value(Fields());
}

using Names = std::initializer_list<std::string_view>;

// Throws Error if tokenizer_class of tokenizer_config.json, or else of config.json, names a class
// that is not in `classes`, or if no file names a class and config.json's model_type is not in
// `models`. Other classes cut texts by other rules, although their files have the same names.
void check_class(const fs::path& folder, Names classes, Names models) {
  const auto states = [&](const char* name, const char* key, Names known) {
    const fs::path file = folder / name;
    const Value json = read_settings(file);
    JsonObject object(json, file.string());
    const std::string stated = object.string(key, "");
    std::string_view found = stated;
    if (found.ends_with("Fast")) found.remove_suffix(4);
    if (!found.empty() && std::find(known.begin(), known.end(), found) == known.end())
      raise(
          "{} is \"{}\", whose vocabulary file alone is not supported; save the tokenizer in the "
          "\"fast\" form to get a tokenizer.json",
          object.where(key), stated);
    return !found.empty();
  };
  if (states("tokenizer_config.json", "tokenizer_class", classes)) return;
  if (states("config.json", "tokenizer_class", classes)) return;
  states("config.json", "model_type", models);
}

// Returns an entry for the list of added tokens. `takes_space` is set for the mask token of
// byte-level files: it includes the space before it.
Fields added_token(const std::string& text, const Value& id, bool takes_space) {
  return {{"id", id},        {"content", text},     {"single_word", false}, {"lstrip", takes_space},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

// Returns an entry for each of `names` that the vocabulary has.
Values added_tokens(const Fields& vocabulary, std::initializer_list<std::string_view> names,
                    bool mask_takes_space) {
  Values added;
  for (const std::string_view name : names)
    if (const auto found = vocabulary.find(std::string(name)); found != vocabulary.end())
      added.emplace_back(added_token(found->first, found->second,
                                     mask_takes_space && (name == "<mask>" || name == "[MASK]")));
  return added;
}

Fields around(const Fields& vocabulary, const char* first, const char* last) {
  return {{"type", "BertProcessing"},
          {"cls", Values{first, vocabulary.at(first)}},
          {"sep", Values{last, vocabulary.at(last)}}};
}

// Returns BERT's normalizer. A flag that the file lacks has transformers' default.
Fields bert_normalizer(const fs::path& folder) {
  const fs::path path = folder / "tokenizer_config.json";
  const Value json = read_settings(path);
  JsonObject object(json, path.string());
  Fields normalizer = {{"type", "BertNormalizer"},
                       {"clean_text", true},
                       {"handle_chinese_chars", object.boolean("tokenize_chinese_chars", true)},
                       {"strip_accents", nullptr},
                       {"lowercase", object.boolean("do_lower_case", true)}};
  if (object.has("strip_accents"))
    normalizer["strip_accents"] = object.boolean("strip_accents", false);
  return normalizer;
}

Fields read_word_pieces(const fs::path& file) {
  Fields vocabulary;
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

Fields word_piece(const fs::path& folder) {
  check_class(folder,
              {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer"},
              {"bert", "distilbert", "electra", "ernie", "megatron-bert", "mobilebert", "nezha",
               "qdqbert"});
  const Fields vocabulary = read_word_pieces(folder / "vocab.txt");
  return {{"version", "1.0"},
          {"added_tokens",
           added_tokens(vocabulary, {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, false)},
          {"normalizer", bert_normalizer(folder)},
          {"pre_tokenizer", Fields{{"type", "BertPreTokenizer"}}},
          {"post_processor", around(vocabulary, "[CLS]", "[SEP]")},
          {"decoder", Fields{{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
          {"model", Fields{{"type", "WordPiece"},
                           {"unk_token", "[UNK]"},
                           {"continuing_subword_prefix", "##"},
                           {"max_input_chars_per_word", 100},
                           {"vocab", vocabulary}}}};
}

// The file may begin with "#version: ..."; each further line is a merge.
Values read_merges(const fs::path& file) {
  Values merges;
  bool is_first = true;
  for_lines(read_file(file, kMostBytes), [&](std::string_view line) {
    const bool is_version = std::exchange(is_first, false) && line.starts_with("#version");
    if (!line.empty() && !is_version) merges.emplace_back(line);
  });
  return merges;
}

Fields byte_level_bpe(const fs::path& folder) {
  check_class(folder, {"RobertaTokenizer", "DebertaTokenizer"},
              {"roberta", "roberta-prelayernorm", "data2vec-text", "deberta", "ibert", "mra"});
  const fs::path file = folder / "vocab.json", settings = folder / "tokenizer_config.json";
  const Value read = parse_json(read_file(file, kMostBytes), file.string());
  if (!read.is_fields()) raise("{}: expected an object of tokens and ids", file.string());
  const Fields& vocabulary = read.fields();
  const auto has = [&](const char* a, const char* b) {
    return vocabulary.contains(a) && vocabulary.contains(b);
  };
  const Value json = read_settings(settings);
  const bool adds_space = JsonObject(json, settings.string()).boolean("add_prefix_space", false);
  Value post = nullptr;
  if (has("[CLS]", "[SEP]")) {
    post = around(vocabulary, "[CLS]", "[SEP]");
  } else if (has("<s>", "</s>")) {
    post = around(vocabulary, "<s>", "</s>");
  }
  return {{"version", "1.0"},
          {"added_tokens", added_tokens(vocabulary,
                                        {"<s>", "<pad>", "</s>", "<unk>", "<mask>", "[PAD]",
                                         "[UNK]", "[CLS]", "[SEP]", "[MASK]"},
                                        true)},
          {"normalizer", nullptr},
          {"pre_tokenizer", Fields{{"type", "ByteLevel"}, {"add_prefix_space", adds_space}}},
          {"post_processor", post},
          {"decoder", Fields{{"type", "ByteLevel"}}},
          {"model", Fields{{"type", "BPE"},
                           {"vocab", vocabulary},
                           {"merges", read_merges(folder / "merges.txt")}}}};
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
