#include "methods/attn_cache/map_store_writer.h"

#include <xxhash.h>

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/words.h"
#include "core/store/segment_layout.h"
#include "methods/attn_cache/map_store_format.h"

namespace reprise::attn_cache {
namespace {

size_t bytes_of_group(const MapStoreIdentity& identity, int64_t tokens) {
  return layout_of(identity.format, tokens).stride * static_cast<size_t>(identity.layers);
}

}  // namespace

MapStoreWriter::MapStoreWriter(std::filesystem::path path, MapStoreIdentity identity,
                               int64_t budget_bytes)
    : path_(std::move(path)),
      identity_(std::move(identity)),
      budget_bytes_(budget_bytes),
      file_(path_) {
  validate(identity_.format);
  if (identity_.layers < 1) raise("a map store of {} layers: give 1 or more", identity_.layers);
  if (budget_bytes_ < 0) raise("a map store of {} bytes: a budget is 0 or more", budget_bytes_);
  file_.write(kMapStoreBegin);
  pad_to_page();
}

int64_t MapStoreWriter::group_bytes(int64_t tokens) const {
  return static_cast<int64_t>(bytes_of_group(identity_, tokens));
}

void MapStoreWriter::begin_group(int64_t tokens, uint64_t prompt_hash) {
  if (tokens < 1 || tokens > kMostMapTokens)
    raise("a prompt of {} tokens has no maps that can be stored: 1 to {} tokens have", tokens,
          kMostMapTokens);
  const int64_t bytes = group_bytes(tokens);
  if (budget_bytes_ > 0 && bytes > budget_bytes_ - used_bytes_)
    raise(
        "{} has no room for the maps of a prompt of {} tokens: {} bytes, and {} of its budget of "
        "{} are taken. Give it more, smaller weights (bf16, u8), or fewer prompts.",
        path_.string(), tokens, bytes, used_bytes_, budget_bytes_);
  pad_to_page();
  open_ = {.tokens = tokens, .prompt_hash = prompt_hash, .begin = file_.bytes_written()};
  open_hashes_.clear();
}

void MapStoreWriter::add_layer(const kernels::MapView& map) {
  REPRISE_CHECK(open_.tokens > 0, "a map without a group");
  if (map.rows != open_.tokens)
    raise_shape("a map of {} rows for a prompt of {} tokens", map.rows, open_.tokens);
  layer_.resize(layout_of(identity_.format, open_.tokens).stride);
  encode_map(identity_.format, map, layer_);
  write_layer(layer_);
}

void MapStoreWriter::write_layer(std::span<const std::byte> bytes) {
  REPRISE_CHECK(static_cast<int64_t>(open_hashes_.size()) < identity_.layers,
                "more than {} maps of a prompt", identity_.layers);
  file_.write(bytes);
  open_hashes_.push_back(XXH3_64bits(bytes.data(), bytes.size()));
}

int64_t MapStoreWriter::end_group() {
  REPRISE_CHECK(open_.tokens > 0 && std::ssize(open_hashes_) == identity_.layers,
                "{} maps for {} layers", open_hashes_.size(), identity_.layers);
  used_bytes_ += group_bytes(open_.tokens);
  groups_.push_back(open_);
  hashes_.insert(hashes_.end(), open_hashes_.begin(), open_hashes_.end());
  open_ = {};
  return std::ssize(groups_) - 1;
}

int64_t MapStoreWriter::copy_group(const MapStore& from, int64_t group) {
  REPRISE_CHECK(from.identity() == identity_, "groups of another model or form");
  const MapGroup& source = from.groups().at(static_cast<size_t>(group));
  from.check_layers(group, 0, identity_.layers);
  begin_group(source.tokens, source.prompt_hash);
  for (int64_t layer = 0; layer < identity_.layers; ++layer)
    write_layer(from.layer_bytes(group, layer));
  return end_group();
}

void MapStoreWriter::commit() {
  const std::string text = json_text(Fields{{"model", identity_.model},
                                            {"layers", identity_.layers},
                                            {"form", std::string(name_of(identity_.format.form))},
                                            {"heads", identity_.format.heads},
                                            {"groups", groups_.size()}});
  std::string table = text;
  const auto layers = static_cast<size_t>(identity_.layers);
  for (size_t g = 0; g < groups_.size(); ++g) {
    append_word(table, static_cast<uint64_t>(groups_[g].tokens));
    append_word(table, groups_[g].prompt_hash);
    append_word(table, groups_[g].begin);
    for (size_t layer = 0; layer < layers; ++layer) append_word(table, hashes_[g * layers + layer]);
  }
  append_word(table, uint64_t{file_.bytes_written()});
  append_word(table, uint64_t{text.size()});
  append_word(table, uint64_t{XXH3_64bits(table.data(), table.size())});
  file_.write(table);
  file_.write(kMapStoreEnd);
  file_.commit();
}

void MapStoreWriter::pad_to_page() {
  const size_t written = file_.bytes_written();
  file_.write(std::string(kv::rounded_up(written, kv::kFilePage) - written, '\0'));
}

std::vector<int64_t> groups_to_keep(const MapStore& store, std::span<const int64_t> uses,
                                    int64_t new_bytes, int64_t budget_bytes) {
  REPRISE_CHECK(uses.size() == store.groups().size(), "uses of {} groups of {}", uses.size(),
                store.groups().size());
  if (new_bytes > budget_bytes)
    raise("new maps of {} bytes have no room in a budget of {}: give it more, or fewer prompts",
          new_bytes, budget_bytes);
  std::vector<int64_t> order(uses.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int64_t uses_a = uses[static_cast<size_t>(a)], uses_b = uses[static_cast<size_t>(b)];
    return uses_a > uses_b || (uses_a == uses_b && a > b);
  });
  std::vector<int64_t> kept;
  int64_t left = budget_bytes - new_bytes;
  for (const int64_t group : order) {
    const auto bytes = static_cast<int64_t>(
        bytes_of_group(store.identity(), store.groups()[static_cast<size_t>(group)].tokens));
    if (bytes > left) break;  // a less used group that fits must not replace it
    left -= bytes;
    kept.push_back(group);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace reprise::attn_cache
