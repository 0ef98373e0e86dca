// Reads those keys of tokenizer_config.json that this program uses.
#include "core/tokenizer/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::tokenizer {
namespace {

constexpr size_t kMostTemplateBytes = size_t{1} << 20;

// Reads "<s>" or {"content": "<s>", ...}, which `where` names in errors.
AddedToken read_special_token(const Value& value, const std::string& where) {
  if (value.is_text()) return {.content = value.text(), .is_special = true};
  if (!value.is_fields()) raise("{} must be a token or an object, found {}", where, shown(value));
  JsonObject object(value, where);
  return read_added_token(object, /*is_special=*/true);
}

std::optional<bool> read_flag(JsonObject& object, const std::string& key) {
  if (!object.has(key)) return std::nullopt;
  return object.boolean(key, false);
}

std::optional<bool> read_truncates_left(JsonObject& object) {
  const std::string key = "truncation_side";
  if (!object.has(key)) return std::nullopt;
  const std::string side = object.string(key);
  if (side != "left" && side != "right")
    raise("{} must be left or right, found \"{}\"", object.where(key), side.substr(0, 100));
  return side == "left";
}

std::optional<int64_t> read_limit(const Value& limit) {
  constexpr int64_t kMost = int64_t{1} << 31;
  if (!limit.is_int64() || limit.integer() < 1 || limit.integer() > kMost) return std::nullopt;
  return limit.integer();
}

// Reads a template, or, from a list of named templates, the one named "default".
std::optional<std::string> read_chat_template(JsonObject& object) {
  const std::string key = "chat_template";
  if (!object.has(key)) return std::nullopt;
  if (!object.at(key).is_list()) return object.string(key);
  for (const Value& item : object.list(key)) {
    JsonObject named(item, object.where(key));
    if (named.string("name") == "default") return named.string("template");
  }
  return std::nullopt;
}

auto find_added(auto& config, const std::string& content) {
  return std::find_if(config.added_tokens.begin(), config.added_tokens.end(),
                      [&](const SettingsToken& added) { return added.token.content == content; });
}

// Reads the added tokens. As in transformers, `file` counts only if the settings have
// no added_tokens_decoder.
void read_added_tokens(JsonObject& object, const std::filesystem::path& file,
                       TokenizerConfig& config) {
  const std::string key = "added_tokens_decoder";
  std::error_code error;
  if (object.has(key)) {
    for (const auto& [id, token] : object.object(key).fields()) {
      JsonObject read(token, object.where(key));
      config.added_tokens.push_back(
          {.token = read_added_token(read), .source = object.source(), .replaces = true});
    }
  } else if (std::filesystem::exists(file, error)) {
    const Value json = read_json(file);
    for (const auto& [token, id] : JsonObject(json, file.string()).fields())
      config.added_tokens.push_back(
          {.token = {.content = token, .is_normalized = true}, .source = file.string()});
  }
}

// Appends a special token. If it is an added token already, makes that one special.
void add_special_token(SettingsToken special, TokenizerConfig& config) {
  const auto known = find_added(config, special.token.content);
  if (known == config.added_tokens.end()) {
    config.added_tokens.push_back(std::move(special));
    return;
  }
  known->is_needed = known->is_needed || special.is_needed;
  if (known->token.is_special) return;
  known->token.is_special = true;
  if (!known->replaces) known->token.is_normalized = false;  // added_tokens.json has no flags
}

// The files that name special tokens. If both have a token's key, the first one counts.
using SpecialFiles = std::array<JsonObject*, 2>;

// Reads the token of a key such as "bos_token". A tokenizer need not have it.
std::optional<SettingsToken> read_named_token(const SpecialFiles& files, const char* key) {
  for (JsonObject* file : files)
    if (file->has(key))
      return SettingsToken{.token = read_special_token(file->at(key), file->where(key)),
                           .source = file->source(),
                           .is_needed = false};
  return std::nullopt;
}

// Reads a list of special tokens, or an object whose values are special tokens.
void read_token_list(JsonObject& file, const char* key, TokenizerConfig& config) {
  if (!file.has(key)) return;
  const auto add = [&](const Value& token) {
    add_special_token(
        {.token = read_special_token(token, file.where(key)), .source = file.source()}, config);
  };
  if (file.at(key).is_fields()) {
    for (const auto& [name, token] : file.at(key).fields()) add(token);
  } else {
    for (const Value& token : file.list(key)) add(token);
  }
}

// Padding stands in batches alone, not in texts. Many fine-tuned Llamas add a token for it, some of
// them without a word in their settings. A token that also opens or closes texts does stand there.
void excuse_padding(const std::optional<std::string>& pad, TokenizerConfig& config) {
  for (SettingsToken& added : config.added_tokens) {
    const std::string& content = added.token.content;
    const bool pads = content == pad || content == "[PAD]" || content == "<pad>";
    if (pads && content != config.bos_token && content != config.eos_token) added.is_needed = false;
  }
}

void read_special_tokens(const SpecialFiles& files, TokenizerConfig& config) {
  const auto read = [&](const char* key) -> std::optional<std::string> {
    const std::optional<SettingsToken> named = read_named_token(files, key);
    if (!named) return std::nullopt;
    add_special_token(*named, config);
    return named->token.content;
  };
  const auto is_null = [&](const char* key) {
    return std::any_of(files.begin(), files.end(), [&](const JsonObject* file) {
      return file->fields().contains(key) && file->fields().at(key).is_null();
    });
  };
  config.bos_token = read("bos_token");
  config.eos_token = read("eos_token");
  config.has_no_bos = !config.bos_token && is_null("bos_token");
  config.has_no_eos = !config.eos_token && is_null("eos_token");
  const std::optional<std::string> pad = read("pad_token");
  for (const char* key : {"unk_token", "sep_token", "cls_token", "mask_token"}) (void)read(key);
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"})
    for (JsonObject* file : files) read_token_list(*file, key, config);
  excuse_padding(pad, config);
}

// Returns the class of a folder whose tokenizer_config.json names none, such as google-bert's: that
// of config.json, or else that of its model_type; "" if there is no config.json, or if the type is
// not known here.
std::string class_of_model(const std::filesystem::path& folder) {
  static const std::map<std::string, std::string> kClasses = {
      {"bert", "BertTokenizer"},       {"distilbert", "DistilBertTokenizer"},
      {"electra", "ElectraTokenizer"}, {"mobilebert", "MobileBertTokenizer"},
      {"roberta", "RobertaTokenizer"}, {"deberta", "DebertaTokenizer"},
      {"llama", "LlamaTokenizer"},     {"mistral", "LlamaTokenizer"},
      {"mixtral", "LlamaTokenizer"},   {"mpt", "GPTNeoXTokenizer"},
      {"phi", "CodeGenTokenizer"}};
  const std::filesystem::path path = folder / "config.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return "";
  const Value json = read_json(path);
  JsonObject config(json, path.string());
  if (std::string named = config.string("tokenizer_class", ""); !named.empty()) return named;
  const auto found = kClasses.find(config.string("model_type", ""));
  return found == kClasses.end() ? "" : found->second;
}

// Reads the options that a class takes from tokenizer_config.json instead of tokenizer.json.
void read_options(JsonObject& object, TokenizerConfig& config) {
  const auto read = [&](const char* key, const char* option, Fields& options) {
    if (object.has(key)) options[option] = object.boolean(key, false);
  };
  if (config.is_class(
          {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer"})) {
    read("do_lower_case", "lowercase", config.bert_options);
    read("strip_accents", "strip_accents", config.bert_options);
    read("tokenize_chinese_chars", "handle_chinese_chars", config.bert_options);
  }
  if (config.is_class({"RobertaTokenizer", "GPT2Tokenizer", "GPTNeoXTokenizer", "DebertaTokenizer",
                       "CodeGenTokenizer"}))
    read("add_prefix_space", "add_prefix_space", config.byte_level_options);
  if (config.is_class({"LlamaTokenizer"})) {
    config.legacy = read_flag(object, "legacy").value_or(true);
    config.add_prefix_space = read_flag(object, "add_prefix_space").value_or(true);
  }
}

}  // namespace

bool TokenizerConfig::is_class(std::initializer_list<std::string_view> names) const {
  std::string_view name = tokenizer_class;
  if (name.ends_with("Fast")) name.remove_suffix(4);
  return std::find(names.begin(), names.end(), name) != names.end();
}

TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder) {
  TokenizerConfig config;
  std::error_code error;
  if (const auto jinja = folder / "chat_template.jinja"; std::filesystem::exists(jinja, error))
    config.chat_template = read_file(jinja, kMostTemplateBytes);
  const std::filesystem::path path = folder / "tokenizer_config.json";
  const bool exists = std::filesystem::exists(path, error);
  if (exists) config.source = path.string();
  const Value json = exists ? read_json(path) : Value(Fields());
  JsonObject object(json, path.string());
  config.tokenizer_class = object.string("tokenizer_class", "");
  if (config.tokenizer_class.empty()) config.tokenizer_class = class_of_model(folder);
  config.add_bos_token = read_flag(object, "add_bos_token");
  config.add_eos_token = read_flag(object, "add_eos_token");
  config.splits_special = object.boolean("split_special_tokens", false);
  read_options(object, config);
  config.most_tokens = read_limit(field_of(json, "model_max_length"));
  config.truncates_left = read_truncates_left(object);
  read_added_tokens(object, folder / "added_tokens.json", config);
  // As in transformers, special_tokens_map.json counts only without added_tokens_decoder.
  const std::filesystem::path map_path = folder / "special_tokens_map.json";
  const bool has_map =
      !object.has("added_tokens_decoder") && std::filesystem::exists(map_path, error);
  const Value map_json = has_map ? read_json(map_path) : Value(Fields());
  JsonObject map(map_json, map_path.string());
  read_special_tokens({&map, &object}, config);
  std::erase_if(config.added_tokens,
                [](const SettingsToken& added) { return added.token.content.empty(); });
  if (!config.chat_template) config.chat_template = read_chat_template(object);
  return config;
}

std::string missing_token_note(const TokenizerConfig& config, const char* key,
                               const std::string& token) {
  const auto named = find_added(config, token);
  return fmt::format("{}: \"{}\" is \"{}\", which the tokenizer does not have",
                     named == config.added_tokens.end() ? config.source : named->source, key,
                     token);
}

void check_added_tokens(const TokenizerConfig& config, const std::string& source,
                        const std::function<bool(const std::string&)>& finds) {
  for (const SettingsToken& added : config.added_tokens)
    if (added.is_needed && !finds(added.token.content))
      raise(
          "{} adds the token \"{}\", which {} lacks or has as an ordinary piece; save the "
          "tokenizer in the \"fast\" form to get a tokenizer.json that has it, or remove it from "
          "the first file if no text has it",
          added.source, added.token.content, source);
}

}  // namespace reprise::tokenizer
