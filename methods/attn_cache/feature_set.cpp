#include "methods/attn_cache/feature_set.h"

#include <xxhash.h>

#include <cstring>
#include <set>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/mapped_file.h"
#include "core/base/words.h"
#include "methods/attn_cache/projector.h"

namespace reprise::attn_cache {
namespace {

constexpr std::string_view kMagic = "RPRVEC2\n";
constexpr size_t kTextBegin = kMagic.size() + 2 * sizeof(uint64_t);

Fields fields_of(const IndexOptions& options) {
  return {{"kind", std::string(name_of(options.kind))},
          {"neighbours", options.neighbours},
          {"build_candidates", options.build_candidates},
          {"candidates", options.candidates},
          {"lists", options.lists},
          {"probes", options.probes}};
}

IndexOptions read_options(JsonObject json) {
  const auto number = [&](const char* name) {
    return static_cast<int32_t>(json.integer_in(name, INT32_MIN, INT32_MAX));
  };
  return {.kind = parse_index_kind(json.string("kind")),
          .neighbours = number("neighbours"),
          .build_candidates = number("build_candidates"),
          .candidates = number("candidates"),
          .lists = number("lists"),
          .probes = number("probes")};
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& fault) {
  raise("{} is no sound index of feature vectors: {}. Remove it and build the database again.",
        path.string(), fault);
}

}  // namespace

FeatureIndex::FeatureIndex(Settings settings, const IndexOptions& options,
                           const FeatureSet& features, std::span<const int64_t> tokens)
    : FeatureIndex(std::move(settings)) {
  std::map<IndexKey, FeatureSet> parts;
  for (size_t i = 0; i < features.entries.size(); ++i) {
    const IndexEntry& entry = features.entries[i];
    const auto group = static_cast<size_t>(entry.group);
    REPRISE_CHECK(group < tokens.size(), "group {} of {}", group, tokens.size());
    FeatureSet& part = parts[{.layer = settings_.by_layer ? entry.layer : -1,
                              .tokens = settings_.by_length ? tokens[group] : -1}];
    const auto first = features.vectors.begin() + static_cast<int64_t>(i) * features.dims;
    part.vectors.insert(part.vectors.end(), first, first + features.dims);
    part.entries.push_back(entry);
  }
  for (auto& [key, part] : parts)
    indices_.emplace(key,
                     VectorIndex(options, features.dims, part.vectors, std::move(part.entries)));
}

const VectorIndex* FeatureIndex::find(int64_t layer, int64_t tokens) const {
  const auto found = indices_.find(
      {.layer = settings_.by_layer ? layer : -1, .tokens = settings_.by_length ? tokens : -1});
  return found == indices_.end() ? nullptr : &found->second;
}

int64_t FeatureIndex::entries() const {
  int64_t count = 0;
  for (const auto& [key, index] : indices_) count += std::ssize(index.entries());
  return count;
}

std::vector<int64_t> FeatureIndex::layers() const {
  std::set<int64_t> layers;
  for (const auto& [key, index] : indices_)
    for (const IndexEntry& entry : index.entries()) layers.insert(entry.layer);
  return {layers.begin(), layers.end()};
}

void FeatureIndex::require_entries_within(int64_t groups, int64_t layers,
                                          const std::string& source) const {
  for (const auto& [key, index] : indices_)
    for (const IndexEntry& entry : index.entries())
      if (entry.group < 0 || entry.group >= groups || entry.layer < 0 || entry.layer >= layers)
        raise("{}: a vector of group {}, layer {} beside maps of {} groups and {} layers", source,
              entry.group, entry.layer, groups, layers);
}

void FeatureIndex::write(const std::filesystem::path& path, const Settings& settings,
                         const IndexOptions& options, const FeatureSet& features,
                         std::span<const int64_t> tokens) {
  const std::string text = json_text(Fields{{"store", settings.store},
                                            {"projector", settings.projector},
                                            {"by_layer", settings.by_layer},
                                            {"by_length", settings.by_length},
                                            {"index", fields_of(options)},
                                            {"dims", features.dims},
                                            {"entries", features.entries.size()},
                                            {"tokens", Values(tokens.begin(), tokens.end())}});
  std::string rest = text;
  for (const IndexEntry& entry : features.entries) append_word(rest, entry);
  rest.append(reinterpret_cast<const char*>(features.vectors.data()),
              features.vectors.size() * sizeof(float));
  std::string head(kMagic);
  append_word(head, uint64_t{text.size()});
  append_word(head, uint64_t{XXH3_64bits(rest.data(), rest.size())});
  AtomicFile file(path);
  file.write(head);
  file.write(rest);
  file.commit();
}

FeatureIndex FeatureIndex::load(const std::filesystem::path& path) {
  const MappedFile map(path);
  const std::span<const std::byte> file = map.bytes();
  const std::string_view all(reinterpret_cast<const char*>(file.data()), file.size());
  if (all.size() < kTextBegin || !all.starts_with(kMagic)) refuse(path, "it does not begin as one");
  const auto text_bytes = word_at<uint64_t>(file, kMagic.size());
  const std::string_view rest = all.substr(kTextBegin);
  if (text_bytes > rest.size() || XXH3_64bits(rest.data(), rest.size()) !=
                                      word_at<uint64_t>(file, kMagic.size() + sizeof(uint64_t)))
    refuse(path, "it is cut off or damaged");
  const std::string source = path.string();
  const Value json = parse_json(rest.substr(0, text_bytes), source);
  JsonObject object(json, source);
  Settings settings{.store = object.string("store"),
                    .projector = object.string("projector"),
                    .by_layer = object.boolean("by_layer", true),
                    .by_length = object.boolean("by_length", false)};
  const IndexOptions options = read_options(object.object("index"));
  std::vector<int64_t> tokens;
  for (const Value& length : object.list("tokens")) {
    if (!length.is_int64()) refuse(path, "a length is no number");
    tokens.push_back(length.integer());
  }
  FeatureSet features{
      .dims = object.integer_in("dims", 0, kMostFeatures), .vectors = {}, .entries = {}};
  // The checksum detects only accidental changes, not crafted files, so all sizes are checked too.
  const size_t bytes = rest.size() - text_bytes;
  const size_t entry_bytes =
      sizeof(IndexEntry) + static_cast<size_t>(features.dims) * sizeof(float);
  const auto count = static_cast<size_t>(object.integer_in("entries", 0, INT32_MAX));
  if (bytes != count * entry_bytes) refuse(path, "its vectors are not as many as it says");
  for (size_t i = 0; i < count; ++i) {
    features.entries.push_back(
        word_at<IndexEntry>(file, kTextBegin + text_bytes + i * sizeof(IndexEntry)));
    const IndexEntry& entry = features.entries.back();
    if (entry.group < 0 || entry.group >= std::ssize(tokens))
      refuse(path, fmt::format("a vector is of group {}, of {}", entry.group, tokens.size()));
  }
  features.vectors.resize(count * static_cast<size_t>(features.dims));
  if (!features.vectors.empty())
    std::memcpy(features.vectors.data(), rest.data() + text_bytes + count * sizeof(IndexEntry),
                features.vectors.size() * sizeof(float));
  try {
    return {std::move(settings), options, features, tokens};
  } catch (const Error& error) {
    refuse(path, error.what());
  }
}

}  // namespace reprise::attn_cache
