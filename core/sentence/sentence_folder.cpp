#include "core/sentence/sentence_folder.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/lower_case.h"
#include "core/tokenizer/tokenizer_config.h"

namespace reprise::sentence {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

struct Module {
  std::string type;  // without the name of its Python package
  fs::path path;
};

// Returns a folder below `folder`; the path "" means `folder` itself.
fs::path place_of(JsonObject& json, const fs::path& folder) {
  const fs::path path = json.string("path", "");
  const bool leaves =
      path.is_absolute() || std::find(path.begin(), path.end(), fs::path("..")) != path.end();
  if (leaves)
    raise("{} is \"{}\", which leaves the folder", json.where("path"),
          path.string().substr(0, 100));
  return path.empty() ? folder : folder / path;
}

std::vector<Module> read_modules(const fs::path& folder) {
  const std::string source = (folder / "modules.json").string();
  const Value json = read_json(source);
  if (json.size() == 0 || !json.is_list()) raise("{}: expected a list of modules", source);
  std::vector<Module> modules;
  for (const Value& item : json.list()) {
    JsonObject object(item, source, fmt::format("[{}]", modules.size()));
    const std::string type = object.string("type");
    const size_t dot = type.rfind('.');
    modules.push_back(
        {dot == std::string::npos ? type : type.substr(dot + 1), place_of(object, folder)});
  }
  return modules;
}

void check_order(const std::vector<Module>& modules, const fs::path& folder) {
  constexpr std::array<std::string_view, 3> kOrder = {"Transformer", "Pooling", "Normalize"};
  for (size_t i = 0; i < std::max(modules.size(), size_t{2}); ++i) {
    const std::string found = i < modules.size() ? modules[i].type.substr(0, 100) : "";
    if (i < kOrder.size() && found == kOrder[i]) continue;
    raise(
        "{}: module {} is {}, which is not supported: a Transformer, a Pooling and perhaps a "
        "Normalize make a sentence's vector here",
        (folder / "modules.json").string(), i, found.empty() ? "missing" : "\"" + found + "\"");
  }
}

// Reads the pooling modes as sentence-transformers does. Newer files list the modes' names, in any
// case, under one key, in the order in which the modes' vectors are concatenated. Older files have
// one flag for each mode; of absent ones, only that of the mean is on.
std::vector<PoolingMode> read_modes(JsonObject& json) {
  constexpr std::array kFlags = {
      std::pair{PoolingMode::kCls, "pooling_mode_cls_token"},
      std::pair{PoolingMode::kMax, "pooling_mode_max_tokens"},
      std::pair{PoolingMode::kMean, "pooling_mode_mean_tokens"},
      std::pair{PoolingMode::kMeanSqrtLength, "pooling_mode_mean_sqrt_len_tokens"},
      std::pair{PoolingMode::kWeightedMean, "pooling_mode_weightedmean_tokens"},
      std::pair{PoolingMode::kLast, "pooling_mode_lasttoken"}};
  std::vector<PoolingMode> modes;
  if (json.has("pooling_mode")) {
    const Value& given = json.at("pooling_mode");
    for (const Value& name : given.is_list() ? given.list() : Values{given}) {
      if (!name.is_text()) raise("{} must name modes", json.where("pooling_mode"));
      modes.push_back(parse_pooling(lower_case(name.text()), json.where("pooling_mode")));
    }
  } else {
    for (const auto& [mode, key] : kFlags)
      if (json.boolean(key, mode == PoolingMode::kMean)) modes.push_back(mode);
  }
  if (modes.empty())
    raise("{} and its like are all off: one of them must be on",
          json.where("pooling_mode_mean_tokens"));
  return modes;
}

void read_pooling(const fs::path& folder, SentenceFolder& out) {
  const fs::path path = folder / "config.json";
  const Value json = read_json(path);
  JsonObject object(json, path.string());
  out.pooling.modes = read_modes(object);
  out.pools_prompt = object.boolean("include_prompt", true);
}

// Throws Error unless `key` is absent or has the value `accepted`.
void require_value(JsonObject& json, const char* key, const char* accepted) {
  if (json.has(key) && json.at(key) != Value(accepted))
    raise("{} is {}, which is not supported: it must be \"{}\" or absent", json.where(key),
          shown(json.at(key)), accepted);
}

// Arguments of transformers' classes that do not change a text's tokens and states, or that
// sentence-transformers replaces when it loads a folder.
constexpr std::array kHarmlessArguments = {"attn_implementation",
                                           "cache_dir",
                                           "device_map",
                                           "dtype",
                                           "local_files_only",
                                           "low_cpu_mem_usage",
                                           "padding",
                                           "padding_side",
                                           "revision",
                                           "subfolder",
                                           "token",
                                           "trust_remote_code",
                                           "torch_dtype",
                                           "use_fast",
                                           "use_safetensors"};

// Throws Error if the object under `key` has an argument that may change a text's tokens or states.
void refuse_arguments(JsonObject& json, const char* key) {
  if (!json.has(key)) return;
  const JsonObject arguments = json.object(key);
  for (const auto& [name, value] : arguments.fields())
    if (std::find(kHarmlessArguments.begin(), kHarmlessArguments.end(), name) ==
        kHarmlessArguments.end())
      raise(
          "{} is {}, which is not supported: an argument that may change the vectors must be "
          "absent",
          arguments.where(name), shown(value));
}

// Throws Error if the settings ask for anything but the last layer's states of the text alone.
// sentence-transformers writes the first four keys since version 5.4; without them, it reads texts
// as earlier versions do. It does not write the last six keys, but passes them to transformers.
void require_plain_text(JsonObject& json) {
  require_value(json, "transformer_task", "feature-extraction");
  require_value(json, "module_output_name", "token_embeddings");
  if (json.has("modality_config")) {
    JsonObject modalities = json.object("modality_config");
    if (modalities.has("message"))
      raise(
          "{} is not supported: with it, sentence-transformers puts each text into the tokenizer's "
          "chat template",
          modalities.where("message"));
    JsonObject text = modalities.object("text");
    require_value(text, "method", "forward");
    require_value(text, "method_output_name", "last_hidden_state");
  }
  if (json.has("processing_kwargs")) {
    JsonObject processing = json.object("processing_kwargs");
    for (const char* key : {"text", "common"}) refuse_arguments(processing, key);
  }
  for (const char* key : {"config_args", "config_kwargs", "model_args", "model_kwargs",
                          "tokenizer_args", "processor_kwargs"})
    refuse_arguments(json, key);
}

void read_transformer(const fs::path& folder, SentenceFolder& out) {
  for (const char* name : kTransformerFiles) {
    const fs::path path = folder / name;
    if (!is_there(path)) continue;
    const Value json = read_json(path);
    JsonObject object(json, path.string());
    require_plain_text(object);
    if (object.has("max_seq_length"))
      out.most_tokens = object.integer_in("max_seq_length", 1, int64_t{1} << 31);
    out.lowers_case = object.boolean("do_lower_case", false);
    return;
  }
}

void read_prompts(const fs::path& folder, SentenceFolder& out) {
  const fs::path path = folder / "config_sentence_transformers.json";
  if (!is_there(path)) return;
  const Value json = read_json(path);
  JsonObject object(json, path.string());
  if (!object.has("default_prompt_name")) return;
  JsonObject prompts = object.object("prompts");
  out.prompt = prompts.string(object.string("default_prompt_name"));
}

}  // namespace

std::optional<SentenceFolder> read_sentence_folder(const fs::path& folder) {
  if (!is_there(folder / "modules.json")) return std::nullopt;
  const std::vector<Module> modules = read_modules(folder);
  check_order(modules, folder);
  SentenceFolder out{.model = modules[0].path, .pooling_folder = modules[1].path};
  read_transformer(modules[0].path, out);
  if (!out.most_tokens)
    out.most_tokens = tokenizer::read_tokenizer_config(modules[0].path).most_tokens;
  read_prompts(folder, out);
  read_pooling(modules[1].path, out);
  out.pooling.normalizes = modules.size() > 2;
  return out;
}

}  // namespace reprise::sentence
