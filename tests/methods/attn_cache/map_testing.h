// Attention maps made from a seed, and stores of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/device/buffer.h"
#include "methods/attn_cache/map_store.h"
#include "methods/attn_cache/map_store_writer.h"

namespace reprise::attn_cache {

// A map [heads, tokens, tokens] whose rows are causal and sum to 1.
inline std::vector<float> random_map(uint64_t seed, int64_t heads, int64_t tokens) {
  std::vector<float> map(static_cast<size_t>(heads * tokens * tokens), 0.0f);
  for (int64_t row = 0; row < heads * tokens; ++row) {
    float* weights = map.data() + row * tokens;
    float sum = 0.0f;
    for (int64_t k = 0; k <= row % tokens; ++k) {
      const double unit = random_unit(seed, static_cast<uint64_t>(row), static_cast<uint64_t>(k));
      sum += weights[k] = static_cast<float>(unit * unit * unit + 1e-3);
    }
    for (int64_t k = 0; k <= row % tokens; ++k) weights[k] /= sum;
  }
  return map;
}

inline kernels::MapView view_of_map(const std::vector<float>& map, int64_t heads, int64_t tokens) {
  return kernels::contiguous_map(map.data(), DType::kF32, heads, tokens, tokens);
}

inline MapStoreIdentity identity_of(MapForm form, int64_t layers = 3, int64_t heads = 2) {
  return {.model = "0123456789abcdef", .layers = layers, .format = {.form = form, .heads = heads}};
}

// The map of one layer in the group with this seed.
inline std::vector<float> group_map(uint64_t seed, int64_t layer, const MapStoreIdentity& identity,
                                    int64_t tokens) {
  return random_map(random_bits(seed, 1, static_cast<uint64_t>(layer)), identity.format.heads,
                    tokens);
}

inline void write_group(MapStoreWriter& writer, uint64_t seed, int64_t tokens) {
  writer.begin_group(tokens, seed);
  for (int64_t layer = 0; layer < writer.identity().layers; ++layer)
    writer.add_layer(view_of_map(group_map(seed, layer, writer.identity(), tokens),
                                 writer.identity().format.heads, tokens));
  writer.end_group();
}

// Writes groups. Group g has seed `first_seed` + g, which is also its prompt hash, and 5 + 3 g
// tokens.
inline void write_store(const std::filesystem::path& path, const MapStoreIdentity& identity,
                        int64_t groups, uint64_t first_seed = 100) {
  MapStoreWriter writer(path, identity);
  for (int64_t g = 0; g < groups; ++g)
    write_group(writer, first_seed + static_cast<uint64_t>(g), 5 + 3 * g);
  writer.commit();
}

// True if all maps of a store are the maps that the seeds in its prompt hashes give. Throws Error
// as check_layers() does.
inline bool has_right_maps(const MapStore& store) {
  const MapStoreIdentity& identity = store.identity();
  for (int64_t g = 0; g < std::ssize(store.groups()); ++g) {
    const MapGroup& group = store.groups()[static_cast<size_t>(g)];
    for (int64_t layer = 0; layer < identity.layers; ++layer) {
      store.check_layers(g, layer, layer + 1);
      const std::vector<float> map = group_map(group.prompt_hash, layer, identity, group.tokens);
      AlignedBuffer want(layout_of(identity.format, group.tokens).stride);
      encode_map(identity.format, view_of_map(map, identity.format.heads, group.tokens),
                 want.span<std::byte>());
      const std::span<const std::byte> got = store.layer_bytes(g, layer);
      if (!std::equal(got.begin(), got.end(), want.span<std::byte>().begin())) return false;
    }
  }
  return true;
}

}  // namespace reprise::attn_cache
