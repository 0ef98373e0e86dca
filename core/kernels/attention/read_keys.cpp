#include "core/kernels/attention/read_keys.h"

#include <algorithm>
#include <vector>

#include "core/device/cpu/probe.h"
#include "core/kernels/attention/cpu/attention_task.h"

namespace reprise::kernels {
namespace {

// Returns the sum of the whole 32-bit words at `data` and of the bytes that are left over.
uint32_t sum_of(const char* data, size_t bytes, Isa isa) {
  const size_t words = bytes / sizeof(uint32_t) * sizeof(uint32_t);
  uint32_t sum = reprise::cpu::sum_words(data, words, isa);
  for (size_t byte = words; byte < bytes; ++byte) sum += static_cast<unsigned char>(data[byte]);
  return sum;
}

// Reads the keys and values of one task.
class TaskReader {
 public:
  TaskReader(const AttentionStep& step, int64_t layer, const ScheduleTask& task, Isa isa)
      : task_(task),
        part_(step.schedule.parts[static_cast<size_t>(task.part)]),
        segment_(step.plan.segment_of(step.plan.items[static_cast<size_t>(part_.item)])),
        cache_(step.plan.cache_of(segment_)),
        offsets_(step.plan.block_offsets.data() + segment_.first_block),
        row_bytes_(static_cast<size_t>(step.plan.head_dim()) * size_of(cache_.dtype)),
        heads_per_kv_head_(step.schedule.heads / step.plan.kv_heads()),
        group_(step.schedule.group),
        layer_(layer),
        isa_(isa) {}

  ReadKeys read() const {
    ReadKeys all;
    const int32_t together = units_together();
    for (int32_t first = part_.first_key; first < part_.end_key;) {
      const int32_t end = std::min(tile_end(first), part_.end_key);
      for (int32_t unit = 0; unit < task_.units; unit += together)
        add_units(task_.first_unit + unit, std::min(together, task_.units - unit), first, end, all);
      first = end;
    }
    return all;
  }

 private:
  // Returns the number of units that the attention kernel would read together.
  [[nodiscard]] int32_t units_together() const {
    cpu::AttentionTask task;
    task.kv_dtype = cache_.dtype;
    task.head_dim = step_head_dim();
    task.unit_bytes = static_cast<size_t>(cache_.head_stride) * size_of(cache_.dtype);
    task.block_tokens = segment_.block_tokens;
    task.skipped = segment_.skipped;
    task.units = task_.units;
    task.lanes = task_.units * task_.lanes;
    return reads_in_place(cache_.dtype, step_head_dim(), isa_) ? task.units_together() : 1;
  }
  [[nodiscard]] int step_head_dim() const { return static_cast<int>(cache_.head_dim); }

  [[nodiscard]] int32_t tile_end(int32_t key) const {
    return ((segment_.skipped + key) / cpu::kKeyTile + 1) * cpu::kKeyTile - segment_.skipped;
  }
  [[nodiscard]] size_t unit_byte(int32_t unit) const {
    const int64_t kv_head = unit * group_ / heads_per_kv_head_;
    return static_cast<size_t>(layer_ * cache_.layer_stride + kv_head * cache_.head_stride) *
           size_of(cache_.dtype);
  }

  // Reads the keys of a tile and then its values. With several units, reads the rows of all units
  // in one block before those in the next block.
  void add_units(int32_t first_unit, int32_t units, int32_t first, int32_t end,
                 ReadKeys& all) const {
    for (const void* data : {cache_.keys, cache_.values})
      for (int32_t begin = first; begin < end;) {
        const int32_t in_block = (segment_.skipped + begin) % segment_.block_tokens;
        const int32_t part_end =
            units == 1 ? end : std::min(end, begin + segment_.block_tokens - in_block);
        for (int32_t unit = first_unit; unit < first_unit + units; ++unit) {
          // The first of the units that share a kv head reads its rows for all of them.
          if (unit * group_ % heads_per_kv_head_ != 0) continue;
          add_rows(static_cast<const char*>(data) + unit_byte(unit), begin, part_end, all);
        }
        begin = part_end;
      }
  }

  // Reads tokens [first, end), one block at a time.
  void add_rows(const char* unit, int32_t first, int32_t end, ReadKeys& all) const {
    while (first < end) {
      const int32_t at = segment_.skipped + first;
      const int32_t in_block = at % segment_.block_tokens;
      const int32_t rows = std::min(end - first, segment_.block_tokens - in_block);
      const size_t byte =
          static_cast<size_t>(offsets_[at / segment_.block_tokens]) * size_of(cache_.dtype) +
          static_cast<size_t>(in_block) * row_bytes_;
      const size_t bytes = static_cast<size_t>(rows) * row_bytes_;
      all.checksum += sum_of(unit + byte, bytes, isa_);
      all.bytes += static_cast<int64_t>(bytes);
      first += rows;
    }
  }

  const ScheduleTask& task_;
  const SchedulePart& part_;
  const kv::Segment& segment_;
  const kv::CacheView& cache_;
  const int64_t* offsets_;
  size_t row_bytes_;
  int64_t heads_per_kv_head_;
  int64_t group_;
  int64_t layer_;
  Isa isa_;
};

}  // namespace

bool reads_in_place(DType kv_dtype, int head_dim, Isa isa) {
  const bool is_bf16 = kv_dtype == DType::kBF16;
  if (is_bf16 && has_bf16_dot(isa) && head_dim % 2 == 0) return true;
  const int lanes = isa >= Isa::kAvx512 ? 16 : isa >= Isa::kAvx2 ? 8 : 4;  // f32 in a vector
  return head_dim % (is_bf16 ? 2 * lanes : lanes) == 0;
}

ReadKeys read_keys(const AttentionStep& step, int64_t layer, const Context& context) {
  const std::vector<ScheduleTask>& tasks = step.schedule.tasks;
  struct alignas(64) OfWorker {
    ReadKeys read;
  };
  std::vector<OfWorker> workers(static_cast<size_t>(std::max(1, context.threads)));
  parallel_for(context, std::ssize(tasks), [&](int64_t index, int worker) {
    const ScheduleTask& task = tasks[static_cast<size_t>(index)];
    if (task.first_lane > 0) return;
    const ReadKeys read = TaskReader(step, layer, task, context.isa).read();
    ReadKeys& sum = workers[static_cast<size_t>(worker)].read;
    sum.bytes += read.bytes;
    sum.checksum += read.checksum;
  });
  ReadKeys all;
  for (const OfWorker& one : workers) {
    all.bytes += one.read.bytes;
    all.checksum += one.read.checksum;
  }
  return all;
}

}  // namespace reprise::kernels
