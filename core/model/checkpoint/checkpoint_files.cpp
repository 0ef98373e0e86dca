#include "core/model/checkpoint/checkpoint_files.h"

#include "core/base/error.h"
#include "core/base/json.h"

namespace reprise::model {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxIndexBytes = size_t{64} << 20;

// Throws Error unless `name` is a plain file name, since a downloaded index must not make the
// program open other paths.
void check_shard_name(const fs::path& index, const std::string& name) {
  const bool is_plain = name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
  if (!is_plain || name.size() > 255 || !name.ends_with(".safetensors"))
    raise("{}: shard {} must be the name of a .safetensors file in the same folder", index.string(),
          quoted_name(name));
}

// True for the names that transformers and Meta give to files of weights. Files of other names,
// such as training_args.bin, hold no weights.
bool is_pickled_weights(const std::string& name) {
  return (name.starts_with("pytorch_model") && name.ends_with(".bin")) ||
         (name.starts_with("consolidated") && name.ends_with(".pth"));
}

// Returns the first name of a weight file in PyTorch's own format, or "" if there is none. That
// format is refused, because reading such a file runs code in it.
std::string pickled_weights_in(const fs::path& dir) {
  std::error_code error;
  std::string first;
  for (const auto& entry : fs::directory_iterator(dir, error))
    if (const std::string name = entry.path().filename().string();
        is_pickled_weights(name) && (first.empty() || name < first))
      first = name;
  return first;
}

}  // namespace

CheckpointFiles::CheckpointFiles(const fs::path& dir) : dir_(dir) {
  std::error_code error;
  if (!fs::is_directory(dir, error)) raise("{} is not a folder", dir.string());
  const fs::path single = dir / "model.safetensors";
  const fs::path index = dir / "model.safetensors.index.json";
  if (fs::exists(single, error)) {
    add_file(single);
  } else if (fs::exists(index, error)) {
    open_shards(index);
  } else if (const std::string pickled = pickled_weights_in(dir); !pickled.empty()) {
    raise(
        "{} has its weights only as {}, and reading such a file runs code that is in it. Save the "
        "model again where that is no danger, with transformers: "
        "model.save_pretrained(FOLDER, safe_serialization=True)",
        dir.string(), pickled);
  } else {
    raise(
        "{} has neither model.safetensors nor model.safetensors.index.json: download the "
        "safetensors weights, or save the model again with safe serialization",
        dir.string());
  }
}

const SafetensorsFile& CheckpointFiles::add_file(const fs::path& path) {
  const SafetensorsFile& file = files_.emplace_back(path);
  for (const auto& [name, entry] : file.entries()) {
    const auto [place, is_new] = tensors_.emplace(name, FileTensor{&file, &entry});
    if (!is_new)
      raise("{}, tensor {}: {} holds a tensor of that name too; keep one", path.string(),
            quoted_name(name), place->second.file->path().string());
  }
  return file;
}

void CheckpointFiles::open_shards(const fs::path& index) {
  const Value json = parse_json(read_file(index, kMaxIndexBytes), index.string());
  JsonObject object(json, index.string());
  const JsonObject map = object.object("weight_map");
  std::map<std::string, const SafetensorsFile*> shards;
  for (const auto& [name, shard_text] : map.fields()) {
    if (!shard_text.is_text())
      raise("{} must be the name of a shard", map.where(name.substr(0, 200)));
    const std::string& shard_name = shard_text.text();
    if (!shards.contains(shard_name)) {
      check_shard_name(index, shard_name);
      std::error_code error;
      if (!fs::exists(dir_ / shard_name, error))
        raise("{}: shard {} is not in the folder; download it", index.string(),
              quoted_name(shard_name));
      shards.emplace(shard_name, &add_file(dir_ / shard_name));
    }
    const SafetensorsFile& shard = *shards[shard_name];
    if (!shard.entries().contains(name))
      raise("{}: tensor {} is not in {}, where the index says it is; download both again",
            index.string(), quoted_name(name), shard_name);
  }
  for (const auto& [name, tensor] : tensors_)
    if (!map.fields().contains(name))
      raise("{}: tensor {} of {} is not in the index; download both again", index.string(),
            quoted_name(name), tensor.file->path().filename().string());
}

}  // namespace reprise::model
