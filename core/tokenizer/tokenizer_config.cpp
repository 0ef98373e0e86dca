// Reads those keys of tokenizer_config.json that this program uses.
#include "core/tokenizer/tokenizer_config.h"

#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::tokenizer {
namespace {

constexpr size_t kMostTemplateBytes = size_t{1} << 20;

// Reads "<s>" or {"content": "<s>", ...}.
std::optional<std::string> read_token(JsonObject& object, const std::string& key) {
  if (!object.has(key)) return std::nullopt;
  if (object.at(key).is_fields()) return object.object(key).string("content");
  return object.string(key);
}

std::optional<bool> read_flag(JsonObject& object, const std::string& key) {
  if (!object.has(key)) return std::nullopt;
  return object.boolean(key, false);
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

// Reads the added tokens. As in transformers, `file` counts only if the settings have
// no added_tokens_decoder.
void read_added_tokens(JsonObject& object, const std::filesystem::path& file,
                       TokenizerConfig& config) {
  const std::string key = "added_tokens_decoder";
  std::error_code error;
  if (object.has(key)) {
    config.added_tokens_source = object.source();
    for (const auto& [id, token] : object.object(key).fields()) {
      JsonObject read(token, object.where(key));
      config.added_tokens.push_back(read_added_token(read));
    }
  } else if (std::filesystem::exists(file, error)) {
    config.added_tokens_source = file.string();
    const Value json = read_json(file);
    for (const auto& [token, id] : JsonObject(json, file.string()).fields())
      config.added_tokens.push_back({.content = token, .is_normalized = true});
  }
}

}  // namespace

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
  config.bos_token = read_token(object, "bos_token");
  config.eos_token = read_token(object, "eos_token");
  config.add_bos_token = read_flag(object, "add_bos_token");
  config.add_eos_token = read_flag(object, "add_eos_token");
  config.most_tokens = read_limit(field_of(json, "model_max_length"));
  read_added_tokens(object, folder / "added_tokens.json", config);
  // Padding stands in batches alone, not in texts. Many fine-tuned Llamas add a token for it, some
  // of them without a word in these settings.
  const std::optional<std::string> pad = read_token(object, "pad_token");
  std::erase_if(config.added_tokens, [&](const AddedToken& token) {
    return token.content.empty() || token.content == pad || token.content == "[PAD]" ||
           token.content == "<pad>";
  });
  if (!config.chat_template) config.chat_template = read_chat_template(object);
  return config;
}

std::string missing_token_note(const TokenizerConfig& config, const char* key,
                               const std::string& token) {
  return fmt::format("{}: \"{}\" is \"{}\", which the tokenizer does not have", config.source, key,
                     token);
}

void check_added_tokens(const TokenizerConfig& config, const std::string& source,
                        const std::function<bool(const std::string&)>& finds) {
  for (const AddedToken& token : config.added_tokens)
    if (!finds(token.content))
      raise(
          "{} adds the token \"{}\", which {} lacks or has as an ordinary piece; save the "
          "tokenizer in the \"fast\" form to get a tokenizer.json that has it, or remove it from "
          "the first file if no text has it",
          config.added_tokens_source, token.content, source);
}

}  // namespace reprise::tokenizer
