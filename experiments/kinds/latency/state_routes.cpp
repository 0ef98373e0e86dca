#include "experiments/kinds/latency/state_routes.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/base/error.h"
#include "core/base/page_cache.h"
#include "core/base/random.h"
#include "core/base/temporary_folder.h"
#include "core/kv/token_run.h"
#include "core/store/segment_file.h"
#include "experiments/kinds/shared/bench.h"

namespace reprise::experiments {
namespace {

namespace cache = prompt_cache;

// Fills a buffer so that no two pages are equal.
void fill(AlignedBuffer& buffer, uint64_t stream, const Context& context) {
  constexpr size_t kBytesAtOnce = size_t{1} << 20;
  const auto parts = static_cast<int64_t>((buffer.bytes() + kBytesAtOnce - 1) / kBytesAtOnce);
  parallel_for(context, parts, [&](int64_t part, int) {
    const size_t end = std::min(buffer.bytes(), static_cast<size_t>(part + 1) * kBytesAtOnce);
    for (size_t at = static_cast<size_t>(part) * kBytesAtOnce; at < end; at += sizeof(uint64_t)) {
      const uint64_t bits = random_bits(stream, at, 0);
      std::memcpy(buffer.as<std::byte>() + at, &bits, std::min(sizeof(bits), end - at));
    }
  });
}

// The address where token `token` of a head begins.
const std::byte* place_of(const void* states, const kv::CacheView& view, int64_t layer,
                          int64_t head = 0, int64_t token = 0) {
  const int64_t element =
      layer * view.layer_stride + head * view.head_stride + token * view.head_dim;
  return static_cast<const std::byte*>(states) + static_cast<size_t>(element) * size_of(view.dtype);
}

// Copies each layer with one memcpy for its keys and one for its values.
void copy_layers(const kv::CacheView& from, kv::SegmentBuffer& to, const Context& context) {
  const size_t bytes = to.shape.half_bytes() / static_cast<size_t>(to.shape.layers);
  parallel_for(context, to.shape.layers, [&](int64_t layer, int) {
    const size_t offset = static_cast<size_t>(layer) * bytes;
    std::memcpy(to.keys.as<std::byte>() + offset, place_of(from.keys, from, layer), bytes);
    std::memcpy(to.values.as<std::byte>() + offset, place_of(from.values, from, layer), bytes);
  });
}

void clear(AlignedBuffer& buffer) { std::memset(buffer.data(), 0, buffer.bytes()); }

bool are_equal(const AlignedBuffer& a, const AlignedBuffer& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// True if all heads of a layer hold the same bytes in both runs.
bool are_equal(const cache::StateRun& a, const cache::StateRun& b, int64_t layer) {
  const kv::CacheView &from = a.states->view, &to = b.states->view;
  const size_t bytes = static_cast<size_t>(a.tokens * from.head_dim) * size_of(from.dtype);
  for (int64_t head = 0; head < from.kv_heads; ++head)
    for (const auto& [in, out] : {std::pair{from.keys, to.keys}, std::pair{from.values, to.values}})
      if (std::memcmp(place_of(in, from, layer, head, a.first),
                      place_of(out, to, layer, head, b.first), bytes) != 0)
        return false;
  return a.tokens == b.tokens;
}

}  // namespace

std::vector<Series> state_routes() {
  return {{.name = kHostToHost,
           .help = "memory to memory: one memcpy for a layer's keys, one for its values"},
          {.name = kGather,
           .help = "from several modules into one buffer, as Prompt Cache does with copies: one "
                   "memcpy for a module, layer and head"},
          {.name = kMappedFile,
           .help = "from a file that the system has in memory, mapped anew each time"},
          {.name = kHostToDevice,
           .help = "memory to a device's, by the device where the system lets it: one copy for a "
                   "layer's keys, one for its values; with --device cuda"},
          {.name = kDeviceToDevice, .help = "within a device's memory; with --device cuda"}};
}

bool needs_device(const std::string& route) {
  return route == kHostToDevice || route == kDeviceToDevice;
}

StateRoutes::StateRoutes(const kv::SegmentShape& shape, const std::vector<std::string>& wanted,
                         int64_t modules, const Context& context)
    : context_(on_cpu(context)), runtime_(context.runtime), shape_(shape), source_(shape) {
  fill(source_.keys, 1, context_);
  fill(source_.values, 2, context_);
  for (const std::string& route : wanted) {
    if (route == kGather) make_modules(modules);
    if (route == kMappedFile) write_file();
    if (needs_device(route)) make_device_states(route);
    if (!needs_device(route) && route != kGather && target_.keys.empty())
      target_ = kv::SegmentBuffer(shape_);
  }
}

void StateRoutes::make_device_states(const std::string& route) {
  REPRISE_CHECK(runtime_ != nullptr, "route {} without a device", route);
  if (route == kHostToDevice) {
    keys_lock_ = HostLock(runtime_, source_.keys.data(), source_.keys.bytes());
    values_lock_ = HostLock(runtime_, source_.values.data(), source_.values.bytes());
  } else {
    device_source_ = std::make_unique<kv::DeviceSegment>(runtime_, source_);
  }
  if (device_target_ == nullptr)
    device_target_ = std::make_unique<kv::DeviceSegment>(runtime_, shape_);
}

void StateRoutes::copy_to_device() {
  const kv::CacheView to = device_target_->view();
  const size_t bytes = shape_.half_bytes() / static_cast<size_t>(shape_.layers);
  runtime_->begin_side_copies();
  for (size_t offset = 0; offset < shape_.half_bytes(); offset += bytes) {
    runtime_->copy_in_beside(static_cast<std::byte*>(to.keys) + offset,
                             source_.keys.as<std::byte>() + offset, bytes);
    runtime_->copy_in_beside(static_cast<std::byte*>(to.values) + offset,
                             source_.values.as<std::byte>() + offset, bytes);
  }
  runtime_->await_side_copies();
  runtime_->synchronize();
}

void StateRoutes::prepare(const std::string& route) {
  gathered_ = {};
  if (route == kMappedFile) (void)read_through(file_);
}

int64_t StateRoutes::run(const std::string& route) {
  const int64_t begin_ns = now_ns();
  if (route == kHostToDevice) {
    copy_to_device();
    return now_ns() - begin_ns;
  }
  if (route == kDeviceToDevice) {
    kv::copy_tokens(device_source_->view(), 0, device_target_->view(), 0,
                    static_cast<int32_t>(shape_.tokens), shape_.layers, *runtime_);
    runtime_->synchronize();
    return now_ns() - begin_ns;
  }
  if (route == kMappedFile) {
    const kv::SegmentFile file(file_, kv::Verify::kHeader);
    copy_layers(file.view(), target_, context_);
    return now_ns() - begin_ns;  // unmapping the file is not timed
  }
  if (route == kGather)
    gathered_ = cache::copy_states(modules_, shape_.layers, context_, buffer_);
  else
    copy_layers(source_.view(), target_, context_);
  return now_ns() - begin_ns;
}

bool StateRoutes::copies_all(const std::string& route) {
  prepare(route);
  if (route == kGather) {
    run(route);
    return is_gathered();
  }
  if (needs_device(route)) {
    device_target_ = nullptr;  // freed first, since device memory may not have room for two targets
    device_target_ = std::make_unique<kv::DeviceSegment>(runtime_, shape_);
    run(route);
    const kv::SegmentBuffer copied = device_target_->to_host();
    return are_equal(source_.keys, copied.keys) && are_equal(source_.values, copied.values);
  }
  clear(target_.keys);
  clear(target_.values);
  run(route);
  return are_equal(source_.keys, target_.keys) && are_equal(source_.values, target_.values);
}

// Divides the source's tokens into `count` ranges as modules. To gather them takes the same copies
// as if each module had memory of its own.
void StateRoutes::make_modules(int64_t count) {
  REPRISE_CHECK(count >= 1 && count <= shape_.tokens, "{} modules of {} tokens", count,
                shape_.tokens);
  const auto states =
      std::make_shared<const cache::SharedStates>(cache::SharedStates{.view = source_.view()});
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = shape_.tokens * i / count, end = shape_.tokens * (i + 1) / count;
    modules_.push_back({.states = states,
                        .first = static_cast<int32_t>(first),
                        .tokens = static_cast<int32_t>(end - first),
                        .first_position = static_cast<int32_t>(first)});
  }
}

void StateRoutes::write_file() {
  folder_ = make_temporary_folder("modules");
  file_ = *folder_ / "states.segment";
  kv::write_segment(file_, "states", source_);
}

bool StateRoutes::is_gathered() const {
  if (gathered_.runs.size() != modules_.size() || gathered_.bytes != shape_.bytes()) return false;
  for (size_t i = 0; i < modules_.size(); ++i)
    for (int64_t layer = 0; layer < shape_.layers; ++layer)
      if (!are_equal(modules_[i], gathered_.runs[i], layer)) return false;
  return true;
}

}  // namespace reprise::experiments
