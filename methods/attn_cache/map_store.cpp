#include "methods/attn_cache/map_store.h"

#include <xxhash.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/words.h"
#include "core/store/segment_layout.h"
#include "methods/attn_cache/map_store_format.h"

namespace reprise::attn_cache {
namespace {

// Bounds beyond any real model, so that sizes computed from them do not overflow.
constexpr int64_t kMostLayers = 1 << 14, kMostHeads = 1 << 14;

MapStoreIdentity parse_identity(JsonObject& object) {
  MapStoreIdentity identity;
  identity.model = object.string("model");
  identity.layers = object.integer_in("layers", 1, kMostLayers);
  identity.format.form = parse_map_form(object.string("form"));
  identity.format.heads = object.integer_in("heads", 1, kMostHeads);
  for (const char* key : {"entries", "sinks"})  // older versions wrote these for other map forms
    (void)object.integer(key, 0);
  validate(identity.format);
  return identity;
}

}  // namespace

void refuse_map_store(const std::filesystem::path& path, const std::string& fault) {
  raise("{} is no sound map store: {}. Remove it and collect its maps again.", path.string(),
        fault);
}

uint64_t hash_of_prompt(std::span<const int32_t> ids) {
  return XXH3_64bits(ids.data(), ids.size_bytes());
}

MapStore::MapStore(std::filesystem::path path) : path_(std::move(path)), map_(path_) {
  read_table();
  states_ = std::make_unique<std::atomic<State>[]>(hashes_.size());
}

void MapStore::read_table() {
  const std::span<const std::byte> file = map_.bytes();
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("RPRMAP") && !text.starts_with(kMapStoreBegin))
    raise(
        "{} was written by a newer version: this one reads map stores of format {}. Use that "
        "version, or collect the maps again.",
        path_.string(), kMapStoreFormat);
  if (!text.starts_with(kMapStoreBegin)) refuse_map_store(path_, "it does not begin as one");
  if (file.size() < kv::kFilePage + kMapStoreTail || !text.ends_with(kMapStoreEnd))
    refuse_map_store(path_, "it is cut off");
  const size_t tail = file.size() - kMapStoreTail;
  const auto begin = word_at<uint64_t>(file, tail);
  const auto text_bytes = word_at<uint64_t>(file, tail + 8);
  if (begin < kv::kFilePage || begin > tail || text_bytes > tail - begin)
    refuse_map_store(path_, "its table is damaged");
  const size_t hashed = tail + 2 * sizeof(uint64_t) - begin;
  const auto hash = word_at<uint64_t>(file, tail + 2 * sizeof(uint64_t));
  if (XXH3_64bits(file.data() + begin, hashed) != hash)
    refuse_map_store(path_, "its table is damaged");
  try {
    parse_text(text.substr(begin, text_bytes));
    read_groups(begin + text_bytes, tail - begin - text_bytes, begin);
  } catch (const std::exception& error) {
    refuse_map_store(path_, std::string("its table makes no sense: ") + error.what());
  }
}

void MapStore::parse_text(std::string_view text) {
  const Value json = parse_json(text, "table");
  JsonObject object(json, "table");
  identity_ = parse_identity(object);
  group_count_ = static_cast<size_t>(object.integer_in("groups", 0, INT64_MAX));
  object.reject_unknown();
}

// Reads the table's binary part, `count` bytes from offset `at` on: the groups, then the hashes.
void MapStore::read_groups(size_t at, size_t count, uint64_t table_begin) {
  const auto layers = static_cast<size_t>(identity_.layers);
  const size_t per_group = (kGroupWords + layers) * sizeof(uint64_t);
  if (count % per_group != 0 || count / per_group != group_count_)
    raise("{} bytes for {} groups of {}", count, group_count_, per_group);
  const std::span<const std::byte> file = map_.bytes();
  for (size_t g = 0; g < group_count_; ++g) {
    const size_t word = at + g * per_group;
    const MapGroup group = {.tokens = static_cast<int64_t>(word_at<uint64_t>(file, word)),
                            .prompt_hash = word_at<uint64_t>(file, word + 8),
                            .begin = word_at<uint64_t>(file, word + 16)};
    if (group.tokens < 1 || group.tokens > kMostMapTokens)
      raise("group {} has {} tokens", g, group.tokens);
    if (group.begin % kv::kFilePage != 0 || group.begin > table_begin ||
        group_bytes(group.tokens) > table_begin - group.begin)
      raise("group {} lies beyond the file", g);
    groups_.push_back(group);
    for (size_t layer = 0; layer < layers; ++layer)
      hashes_.push_back(word_at<uint64_t>(file, word + (kGroupWords + layer) * sizeof(uint64_t)));
  }
}

size_t MapStore::group_bytes(int64_t tokens) const {
  return layout_of(identity_.format, tokens).stride * static_cast<size_t>(identity_.layers);
}

std::vector<int64_t> MapStore::lengths() const {
  std::set<int64_t> lengths;
  for (const MapGroup& group : groups_) lengths.insert(group.tokens);
  return {lengths.begin(), lengths.end()};
}

void MapStore::require_model(const std::string& fingerprint, int64_t layers, int64_t heads) const {
  if (identity_.model == fingerprint && identity_.layers == layers &&
      identity_.format.heads == heads)
    return;
  raise(
      "{} holds maps of the model {} ({} layers of {} heads), and this is {} ({} layers of {} "
      "heads): a model's maps are of no use to another. Collect maps of this one.",
      path_.string(), identity_.model, identity_.layers, identity_.format.heads, fingerprint,
      layers, heads);
}

size_t MapStore::hash_index(int64_t group, int64_t layer) const {
  REPRISE_CHECK(group >= 0 && static_cast<size_t>(group) < groups_.size() && layer >= 0 &&
                    layer < identity_.layers,
                "group {} of {}, layer {} of {}", group, groups_.size(), layer, identity_.layers);
  return static_cast<size_t>(group * identity_.layers + layer);
}

std::span<const std::byte> MapStore::layer_bytes(int64_t group, int64_t layer) const {
  static_cast<void>(hash_index(group, layer));  // checks group and layer
  const MapGroup& place = groups_[static_cast<size_t>(group)];
  const size_t stride = layout_of(identity_.format, place.tokens).stride;
  return map_.bytes().subspan(place.begin + static_cast<size_t>(layer) * stride, stride);
}

kernels::MapView MapStore::map(int64_t group, int64_t layer) const {
  const std::span<const std::byte> bytes = layer_bytes(group, layer);
  return view_of(identity_.format, groups_[static_cast<size_t>(group)].tokens, bytes.data());
}

void MapStore::check_layers(int64_t group, int64_t first, int64_t end) const {
  for (int64_t layer = first; layer < end; ++layer) {
    std::atomic<State>& state = states_[hash_index(group, layer)];
    State known = state.load(std::memory_order_acquire);
    if (known == State::kUnknown) {
      const std::span<const std::byte> bytes = layer_bytes(group, layer);
      const uint64_t hash = hashes_[hash_index(group, layer)];
      known = XXH3_64bits(bytes.data(), bytes.size()) == hash ? State::kSound : State::kDamaged;
      state.store(known, std::memory_order_release);
    }
    if (known == State::kDamaged)
      refuse_map_store(path_,
                       fmt::format("the map of group {}, layer {} is damaged", group, layer));
  }
}

void MapStore::check_all() const {
  for (size_t group = 0; group < groups_.size(); ++group)
    check_layers(static_cast<int64_t>(group), 0, identity_.layers);
}

void MapStore::fetch_layers(int64_t group, int64_t first, int64_t end) const {
  if (first >= end) return;
  const std::span<const std::byte> bytes = layer_bytes(group, first);
  map_.fetch(static_cast<size_t>(bytes.data() - map_.bytes().data()),
             static_cast<size_t>(end - first) * bytes.size());
}

void MapStore::release(int64_t group) const {
  const MapGroup& place = groups_.at(static_cast<size_t>(group));
  map_.release(place.begin, group_bytes(place.tokens));
  for (int64_t layer = 0; layer < identity_.layers; ++layer)
    states_[hash_index(group, layer)].store(State::kUnknown, std::memory_order_release);
}

}  // namespace reprise::attn_cache
