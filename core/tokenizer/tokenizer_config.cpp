// Reads the few keys of tokenizer_config.json that matter here.
#include "core/tokenizer/tokenizer_config.h"

#include <nlohmann/json.hpp>

#include "core/base/json.h"

namespace reprise::tokenizer {
namespace {

// "<s>" or {"content": "<s>", ...}.
std::optional<std::string> read_token(JsonObject& object, const std::string& key) {
  if (!object.has(key)) return std::nullopt;
  if (object.at(key).is_object()) return object.object(key).string("content");
  return object.string(key);
}

std::optional<bool> read_flag(JsonObject& object, const std::string& key) {
  if (!object.has(key)) return std::nullopt;
  return object.boolean(key, false);
}

}  // namespace

TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder) {
  TokenizerConfig config;
  const std::filesystem::path path = folder / "tokenizer_config.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return config;
  config.source = path.string();
  const Json json = read_json(path);
  JsonObject object(json, config.source);
  config.tokenizer_class = object.string("tokenizer_class", "");
  config.bos_token = read_token(object, "bos_token");
  config.eos_token = read_token(object, "eos_token");
  config.add_bos_token = read_flag(object, "add_bos_token");
  config.add_eos_token = read_flag(object, "add_eos_token");
  return config;
}

}  // namespace reprise::tokenizer
