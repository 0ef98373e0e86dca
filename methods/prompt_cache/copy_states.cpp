#include "methods/prompt_cache/copy_states.h"

#include <cstddef>
#include <cstring>

#include "core/kernels/attention/tiling.h"
#include "core/kv/token_run.h"

namespace reprise::prompt_cache {
namespace {

// Kernels cut a segment into tiles that begin at multiples of kTile in its block, or on a GPU at
// multiples of kTile / 2. Each copy begins at the same offset within a tile as its original, so
// that both are summed in the same order and give the same bits.
constexpr int32_t kTile = kernels::cpu::kKeyTile;

// Returns the first token index from `end` on that has the same offset within a tile as the first
// token of `run`.
int32_t place_behind(int32_t end, const StateRun& run) {
  const int32_t in_tile = run.first % kTile;
  const int32_t tile = end / kTile * kTile;
  return tile + in_tile >= end ? tile + in_tile : tile + kTile + in_tile;
}

void copy_layer(const std::vector<StateRun>& runs, const std::vector<StateRun>& copies,
                int64_t layer) {
  for (size_t i = 0; i < runs.size(); ++i) {
    // Copies are not checked again when they are used.
    if (runs[i].states->unchecked != nullptr) runs[i].states->unchecked->check_layer(layer);
    const kv::CacheView& from = runs[i].states->view;
    const kv::CacheView& to = copies[i].states->view;
    const size_t element = size_of(from.dtype);
    for (int64_t head = 0; head < from.kv_heads; ++head) {
      const auto offset = [&](const kv::CacheView& view, int32_t token) {
        return static_cast<size_t>(layer * view.layer_stride + head * view.head_stride +
                                   token * view.head_dim) *
               element;
      };
      const size_t source = offset(from, runs[i].first), target = offset(to, copies[i].first);
      const size_t bytes = static_cast<size_t>(runs[i].tokens * from.head_dim) * element;
      std::memcpy(static_cast<std::byte*>(to.keys) + target,
                  static_cast<const std::byte*>(from.keys) + source, bytes);
      std::memcpy(static_cast<std::byte*>(to.values) + target,
                  static_cast<const std::byte*>(from.values) + source, bytes);
    }
  }
}

void copy_on_device(const std::vector<StateRun>& runs, const std::vector<StateRun>& copies,
                    int64_t layers, DeviceRuntime& runtime) {
  bring_whole(runs);
  for (size_t i = 0; i < runs.size(); ++i) {
    const kv::CacheView& from = runs[i].states->view;
    kv::copy_tokens(from, runs[i].first * from.head_dim, copies[i].states->view,
                    copies[i].first * from.head_dim, runs[i].tokens, layers, runtime);
  }
  runtime.synchronize();  // so that a caller who times the copy measures all of it
}

// True if a buffer of shape `has` can hold `wanted`.
bool fits(const kv::SegmentShape& has, kv::SegmentShape wanted) {
  if (has.tokens < wanted.tokens) return false;
  wanted.tokens = has.tokens;
  return wanted == has;
}

}  // namespace

std::shared_ptr<const kv::SegmentBuffer> CopyBuffer::take(const kv::SegmentShape& shape) {
  if (last_ == nullptr || last_.use_count() > 1 || !fits(last_->shape, shape))
    last_ = std::make_shared<const kv::SegmentBuffer>(shape);
  return last_;
}

std::shared_ptr<const kv::DeviceSegment> CopyBuffer::take(
    const std::shared_ptr<DeviceRuntime>& runtime, const kv::SegmentShape& shape) {
  std::shared_ptr<const kv::DeviceSegment>& last = last_on_device_;
  if (last == nullptr || last.use_count() > 1 || last->runtime() != runtime ||
      !fits(last->shape(), shape))
    last = std::make_shared<const kv::DeviceSegment>(runtime, shape);
  return last;
}

CopiedStates copy_states(const std::vector<StateRun>& runs, int64_t layers, const Context& context,
                         CopyBuffer& buffer) {
  CopiedStates out;
  if (runs.empty()) return out;
  out.runs = runs;
  int32_t end = 0;
  int64_t tokens = 0;
  for (StateRun& run : out.runs) {
    run.first = place_behind(end, run);
    end = run.first + run.tokens;
    tokens += run.tokens;
  }
  const kv::CacheView& like = runs[0].states->view;
  kv::SegmentShape shape{.layers = layers,
                         .kv_heads = like.kv_heads,
                         .tokens = end,
                         .head_dim = like.head_dim,
                         .dtype = like.dtype};
  const auto place = [&](const auto& owner) {
    const auto states =
        std::make_shared<const SharedStates>(SharedStates{.view = owner->view(), .owner = owner});
    for (StateRun& run : out.runs) run.states = states;
  };
  if (const kv::DeviceSegment* on_device = runs[0].states->arriving; on_device != nullptr) {
    place(buffer.take(on_device->runtime(), shape));
    copy_on_device(runs, out.runs, layers, *on_device->runtime());
  } else {
    place(buffer.take(shape));
    parallel_for(context, layers, [&](int64_t layer, int) { copy_layer(runs, out.runs, layer); });
  }
  shape.tokens = tokens;
  out.bytes = shape.bytes();
  return out;
}

}  // namespace reprise::prompt_cache
