// Reads those keys of tokenizer_config.json that this program uses.
#include "core/tokenizer/tokenizer_config.h"

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

}  // namespace

TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder) {
  TokenizerConfig config;
  std::error_code error;
  if (const auto jinja = folder / "chat_template.jinja"; std::filesystem::exists(jinja, error))
    config.chat_template = read_file(jinja, kMostTemplateBytes);
  const std::filesystem::path path = folder / "tokenizer_config.json";
  if (!std::filesystem::exists(path, error)) return config;
  config.source = path.string();
  const Value json = read_json(path);
  JsonObject object(json, config.source);
  config.tokenizer_class = object.string("tokenizer_class", "");
  config.bos_token = read_token(object, "bos_token");
  config.eos_token = read_token(object, "eos_token");
  config.add_bos_token = read_flag(object, "add_bos_token");
  config.add_eos_token = read_flag(object, "add_eos_token");
  config.most_tokens = read_limit(field_of(json, "model_max_length"));
  if (!config.chat_template) config.chat_template = read_chat_template(object);
  return config;
}

}  // namespace reprise::tokenizer
