#include "methods/attn_cache/sample_file.h"

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/model/checkpoint/safetensors.h"
#include "core/model/checkpoint/safetensors_writer.h"
#include "methods/attn_cache/projector_file.h"

namespace reprise::attn_cache {
namespace {

constexpr const char* kSamplesKey = "reprise_samples";

// [group, layer, group, layer, ...]
std::vector<IndexEntry> parse_entries(const std::vector<int64_t>& numbers, const MapStore& maps,
                                      const std::string& source) {
  std::vector<IndexEntry> entries;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    const int64_t group = numbers[i], layer = numbers[i + 1];
    if (group < 0 || group >= std::ssize(maps.groups()) || layer < 0 ||
        layer >= maps.identity().layers)
      raise("{}: a sample of group {}, layer {}, which {} does not have", source, group, layer,
            maps.path().string());
    entries.push_back({.group = static_cast<int32_t>(group), .layer = static_cast<int32_t>(layer)});
  }
  return entries;
}

}  // namespace

void save_samples(const std::filesystem::path& path, const SampleSet& samples,
                  const MapStore& maps) {
  std::vector<int64_t> numbers;
  for (const IndexEntry& entry : samples.entries) {
    numbers.push_back(entry.group);
    numbers.push_back(entry.layer);
  }
  const Fields description = {
      {"maps", maps.id()}, {"shape", describe_shape(samples.shape)}, {"entries", numbers}};
  const model::TensorToWrite x = {
      "x", {std::ssize(samples.entries), samples.shape.inputs()}, samples.x};
  model::write_safetensors(path, {&x, 1}, json_text(Fields{{kSamplesKey, json_text(description)}}));
}

SampleSet load_samples(const std::filesystem::path& path, const MapStore& maps) {
  const model::SafetensorsFile file(path);
  const std::string source = path.string();
  const Value metadata = parse_json(model::safetensors_metadata_of(path), source);
  const Value& text = field_of(metadata, kSamplesKey);
  if (!text.is_text())
    raise(
        "{} has no samples: its metadata have no \"{}\". Name a file that collecting has written.",
        source, kSamplesKey);
  const Value description = parse_json(text.text(), source);
  JsonObject object(description, source, kSamplesKey);
  if (object.string("maps") != maps.id())
    raise("{} has samples of other maps than {}: collect both again", source, maps.path().string());
  SampleSet samples;
  JsonObject shape = object.object("shape");
  samples.shape = parse_shape(shape);
  samples.entries = parse_entries(object.integers("entries"), maps, source);
  object.reject_unknown();
  const auto found = file.entries().find("x");
  const std::vector<int64_t> wanted = {std::ssize(samples.entries), samples.shape.inputs()};
  if (found == file.entries().end() || !found->second.dtype || found->second.shape != wanted)
    raise_shape("{}: \"x\" is not the {} samples of {} numbers that its metadata tell of", source,
                wanted[0], wanted[1]);
  samples.x.resize(static_cast<size_t>(found->second.elements));
  file.read(found->second, 0, found->second.elements, DType::kF32, samples.x.data());
  return samples;
}

}  // namespace reprise::attn_cache
