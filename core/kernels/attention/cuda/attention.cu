#include "core/kernels/attention/cuda/attention.cuh"

#include <algorithm>
#include <initializer_list>

#include "core/base/error.h"
#include "core/kernels/attention/cuda/merge.cuh"
#include "core/kernels/shared/cuda/launch.cuh"

namespace reprise::kernels::cuda {
namespace {

// The maps of the plan's first caches, if a launch is by_tensor_maps. A cache whose tokens are not
// rows of one matrix has none.
StepMaps maps_for(const StepSchedule& schedule, const kv::AttentionPlan& plan) {
  StepMaps maps;
  const int64_t columns = plan.head_dim();
  const auto is_row = [&](int64_t elements) { return elements % columns == 0; };
  const auto needs_maps = [](const TileLaunch& launch) {
    return kTileShapes[static_cast<size_t>(launch.shape)].by_tensor_maps;
  };
  if (std::ranges::none_of(schedule.launches, needs_maps) ||
      !std::ranges::all_of(plan.block_offsets, is_row))
    return maps;
  for (size_t i = 0; i < std::min<size_t>(plan.caches.size(), StepMaps::kMost); ++i) {
    const kv::CacheView& cache = plan.caches[i];
    if (cache.keys == nullptr || !is_row(cache.layer_stride) || !is_row(cache.head_stride))
      continue;
    maps.caches[i] = {map_of_rows(cache.keys, columns), map_of_rows(cache.values, columns)};
    maps.mapped |= 1u << i;
  }
  return maps;
}

}  // namespace

void DeviceAttention::begin(const kv::AttentionPlan& plan, int64_t heads,
                            const AttentionParams& params, const GpuModel& gpu, RowResults results,
                            const TileOverride& wanted) {
  schedule_.build(plan, heads, params, gpu, results, wanted);
  head_dim_ = plan.head_dim();
  maps_ = maps_for(schedule_, plan);
  sms_ = gpu.sms;
  image_.set(schedule_, plan, params);
  const UploadImage::Changes changes = image_.changes();
  try {
    arrays_.reserve(changes.needed_bytes);
  } catch (...) {
    image_ = {};  // otherwise it would assume that the arrays have been copied
    throw;
  }
  for (const UploadImage::Copy& copy : changes.copies)
    runtime_.copy_in(arrays_.as<std::byte>() + copy.offset, copy.bytes.data(), copy.bytes.size());
  const auto entries = static_cast<size_t>(schedule_.cut.entries);
  o_.reserve(entries * static_cast<size_t>(head_dim_) * sizeof(float));
  m_.reserve(entries * sizeof(float));
  n_.reserve(entries * sizeof(float));
}

void DeviceAttention::append_key(std::vector<uint64_t>& key) const {
  const AttentionCall call = image_.call(arrays_.data());
  const ScheduleImage::Merge merge = image_.merge(arrays_.data());
  for (const void* address : std::initializer_list<const void*>{
           call.tasks, call.caches, call.block_offsets, call.row_positions, call.alibi_slopes,
           row_slots(), merge.rows, merge.begin, merge.entries, image_.arrivals(arrays_.data()),
           o_.data(), m_.data(), n_.data()})
    append_address(key, address);
  key.push_back(static_cast<uint64_t>(merge.merged));
  key.push_back(maps_.mapped);
  for (const CacheMaps& cache : maps_.caches)
    for (const TensorMap& map : {cache.keys, cache.values})
      if (maps_.mapped != 0) key.insert(key.end(), map.words.begin(), map.words.end());
  for (const TileLaunch& tiles : image_.launches())
    key.push_back(static_cast<uint64_t>(tiles.shape) << 40 |
                  static_cast<uint64_t>(tiles.dtype) << 32 |
                  static_cast<uint64_t>(tiles.end_task - tiles.first_task));
}

void DeviceAttention::run(int64_t layer, const DeviceQueries& q, const DeviceOutput& out,
                          cudaStream_t stream) {
  launch_tasks(layer, q, out, image_.arrivals(arrays_.data()), stream);
  if (!schedule_.merges_in_last_block) merge_parts(out, stream);
}

void DeviceAttention::run_parts(int64_t layer, const DeviceQueries& q, const DeviceOutput& out,
                                cudaStream_t stream) {
  launch_tasks(layer, q, out, /*arrivals=*/nullptr, stream);
}

void DeviceAttention::merge_parts(const DeviceOutput& out, cudaStream_t stream) {
  const ScheduleImage::Merge merge = image_.merge(arrays_.data());
  merge_partials({.rows = merge.rows,
                  .begin = merge.begin,
                  .entries = merge.entries,
                  .merged = merge.merged,
                  .o = o_.as<float>(),
                  .m = m_.as<float>(),
                  .n = n_.as<float>(),
                  .heads = schedule_.cut.heads,
                  .head_dim = head_dim_,
                  .out = out.data,
                  .out_dtype = out.dtype},
                 stream);
}

void DeviceAttention::launch_tasks(int64_t layer, const DeviceQueries& q, const DeviceOutput& out,
                                   unsigned* arrivals, cudaStream_t stream) {
  REPRISE_CHECK(q.row_stride % 8 == 0 && reinterpret_cast<uintptr_t>(q.data) % 16 == 0,
                "queries at {}, rows {} elements apart: 16 bytes are read at a time", q.data,
                q.row_stride);
  AttentionCall call = image_.call(arrays_.data());
  call.layer = layer;
  call.q = q.data;
  call.q_dtype = q.dtype;
  call.q_row_stride = q.row_stride;
  call.out = out.data;
  call.out_dtype = out.dtype;
  call.partial_o = o_.as<float>();
  call.partial_m = m_.as<float>();
  call.partial_n = n_.as<float>();
  call.arrivals = arrivals;
  for (const TileLaunch& tiles : image_.launches()) {
    const bool is_bf16 = tiles.dtype == DType::kBF16;  // the schedule refuses f32
    (is_bf16 ? launch_bf16_tiles : launch_f16_tiles)(call, maps_, tiles, head_dim_, sms_, stream);
  }
}

}  // namespace reprise::kernels::cuda
