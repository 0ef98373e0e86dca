#include "core/kv/token_run.h"

#include "core/base/error.h"

namespace reprise::kv {

void copy_tokens(const CacheView& from, int64_t from_offset, const CacheView& to, int64_t to_offset,
                 int32_t tokens, int64_t layers, DeviceRuntime& runtime) {
  REPRISE_CHECK(from.kv_heads == to.kv_heads && from.head_dim == to.head_dim &&
                    from.dtype == to.dtype && from.device == to.device,
                "caches differ: {} kv heads of {} in {} and {} of {} in {}", from.kv_heads,
                from.head_dim, name_of(from.dtype), to.kv_heads, to.head_dim, name_of(to.dtype));
  const size_t element = size_of(from.dtype);
  const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements) * element; };
  // If all heads of all layers are equally far apart, one two-dimensional copy moves them all, with
  // one head per row.
  const auto is_even = [](const CacheView& cache) {
    return cache.layer_stride == cache.kv_heads * cache.head_stride;
  };
  const int64_t copies = is_even(from) && is_even(to) ? 1 : layers;
  const auto rows = static_cast<size_t>(layers / copies * from.kv_heads);
  for (int64_t copy = 0; copy < copies; ++copy) {
    const size_t source = bytes(from_offset + copy * from.layer_stride);
    const size_t target = bytes(to_offset + copy * to.layer_stride);
    const auto move = [&](void* into, const void* of) {
      runtime.copy_within(static_cast<char*>(into) + target, bytes(to.head_stride),
                          static_cast<const char*>(of) + source, bytes(from.head_stride),
                          bytes(tokens * from.head_dim), rows);
    };
    move(to.keys, from.keys);
    move(to.values, from.values);
  }
}

}  // namespace reprise::kv
