#include "methods/attn_cache/map_store_writer.h"

#include <xxhash.h>

#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/words.h"
#include "core/store/segment_layout.h"
#include "methods/attn_cache/map_store_format.h"

namespace reprise::attn_cache {

MapStoreWriter::MapStoreWriter(const std::filesystem::path& path, MapStoreIdentity identity)
    : identity_(std::move(identity)), file_(path) {
  validate(identity_.format);
  if (identity_.layers < 1) raise("a map store of {} layers: give 1 or more", identity_.layers);
  file_.write(kMapStoreBegin);
  pad_to_page();
}

int64_t MapStoreWriter::group_bytes(int64_t tokens) const {
  return static_cast<int64_t>(layout_of(identity_.format, tokens).stride) * identity_.layers;
}

void MapStoreWriter::begin_group(int64_t tokens, uint64_t prompt_hash) {
  if (tokens < 1 || tokens > kMostMapTokens)
    raise("a prompt of {} tokens has no maps that can be stored: 1 to {} tokens have", tokens,
          kMostMapTokens);
  pad_to_page();
  open_ = {.tokens = tokens, .prompt_hash = prompt_hash, .begin = file_.bytes_written()};
  open_hashes_.clear();
}

void MapStoreWriter::add_layer(const kernels::MapView& map) {
  REPRISE_CHECK(open_.tokens > 0, "a map without a group");
  REPRISE_CHECK(static_cast<int64_t>(open_hashes_.size()) < identity_.layers,
                "more than {} maps of a prompt", identity_.layers);
  if (map.rows != open_.tokens)
    raise_shape("a map of {} rows for a prompt of {} tokens", map.rows, open_.tokens);
  layer_.resize(layout_of(identity_.format, open_.tokens).stride);
  encode_map(identity_.format, map, layer_);
  file_.write(layer_);
  open_hashes_.push_back(XXH3_64bits(layer_.data(), layer_.size()));
}

int64_t MapStoreWriter::end_group() {
  REPRISE_CHECK(open_.tokens > 0 && std::ssize(open_hashes_) == identity_.layers,
                "{} maps for {} layers", open_hashes_.size(), identity_.layers);
  groups_.push_back(open_);
  hashes_.insert(hashes_.end(), open_hashes_.begin(), open_hashes_.end());
  open_ = {};
  return std::ssize(groups_) - 1;
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

}  // namespace reprise::attn_cache
