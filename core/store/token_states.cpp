#include "core/store/token_states.h"

#include <cstring>

#include "core/base/error.h"
#include "core/store/device_segment.h"

namespace reprise::kv {
namespace {

// Calls copy(byte offset in the cache, byte offset in the buffer, bytes) for each contiguous piece:
// the tokens of `run` for one layer and head.
template <typename Copy>
void for_each_stretch(const SegmentShape& shape, int32_t first_token, const TokenRun& run,
                      const CacheView& cache, int64_t layer, Copy&& copy) {
  const int64_t token_bytes = shape.head_dim * static_cast<int64_t>(size_of(shape.dtype));
  const int64_t element_bytes = static_cast<int64_t>(size_of(shape.dtype));
  for (int64_t head = 0; head < shape.kv_heads; ++head) {
    const int64_t in_cache = run.offset + layer * cache.layer_stride + head * cache.head_stride;
    const int64_t in_buffer =
        (layer * shape.kv_heads + head) * shape.tokens + run.first_token - first_token;
    copy(in_cache * element_bytes, in_buffer * token_bytes,
         static_cast<size_t>(run.tokens * token_bytes));
  }
}

const std::shared_ptr<DeviceRuntime>& runtime_of(const CacheView& cache, const Context& context) {
  REPRISE_CHECK(context.runtime != nullptr && context.runtime->device() == cache.device,
                "keys and values on device {} without its runtime", name_of(cache.device));
  return context.runtime;
}

}  // namespace

SegmentBuffer copy_out(const CacheView& cache, int64_t layers, std::span<const TokenRun> runs,
                       const Context& context) {
  const int32_t first_token = runs.front().first_token;
  const SegmentShape shape{.layers = layers,
                           .kv_heads = cache.kv_heads,
                           .tokens = runs.back().first_token + runs.back().tokens - first_token,
                           .head_dim = cache.head_dim,
                           .dtype = cache.dtype};
  if (cache.device != Device::kCpu) {
    const DeviceSegment gathered(runtime_of(cache, context), shape);
    for (const TokenRun& run : runs)
      copy_tokens(cache, run.offset, gathered.view(),
                  (run.first_token - first_token) * cache.head_dim, run.tokens, layers,
                  *gathered.runtime());
    return gathered.to_host();
  }
  SegmentBuffer states(shape);
  parallel_for(context, layers, [&](int64_t layer, int) {
    for (const TokenRun& run : runs)
      for_each_stretch(states.shape, first_token, run, cache, layer,
                       [&](int64_t from, int64_t to, size_t bytes) {
                         std::memcpy(states.keys.as<char>() + to,
                                     static_cast<const char*>(cache.keys) + from, bytes);
                         std::memcpy(states.values.as<char>() + to,
                                     static_cast<const char*>(cache.values) + from, bytes);
                       });
  });
  return states;
}

void copy_back(const SegmentBuffer& states, int32_t first_token, std::span<const TokenRun> runs,
               const CacheView& cache, const Context& context) {
  const SegmentShape& shape = states.shape;
  REPRISE_CHECK(cache.dtype == shape.dtype && cache.kv_heads == shape.kv_heads &&
                    cache.head_dim == shape.head_dim,
                "states of {} for a cache of {} kv heads of {}", text_of(shape), cache.kv_heads,
                cache.head_dim);
  for (const TokenRun& run : runs)
    REPRISE_CHECK(first_token <= run.first_token &&
                      run.first_token + run.tokens <= first_token + shape.tokens,
                  "tokens from {} on of {} from {} on", run.first_token, shape.tokens, first_token);
  if (cache.device != Device::kCpu) {
    const DeviceSegment arrived(runtime_of(cache, context), states);
    for (const TokenRun& run : runs)
      copy_tokens(arrived.view(), (run.first_token - first_token) * cache.head_dim, cache,
                  run.offset, run.tokens, shape.layers, *arrived.runtime());
    return;
  }
  parallel_for(context, shape.layers, [&](int64_t layer, int) {
    for (const TokenRun& run : runs)
      for_each_stretch(
          shape, first_token, run, cache, layer, [&](int64_t to, int64_t from, size_t bytes) {
            std::memcpy(static_cast<char*>(cache.keys) + to, states.keys.as<char>() + from, bytes);
            std::memcpy(static_cast<char*>(cache.values) + to, states.values.as<char>() + from,
                        bytes);
          });
  });
}

}  // namespace reprise::kv
