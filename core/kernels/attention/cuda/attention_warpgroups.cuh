// The attention kernel for shapes by_warpgroups (sm_90a): one warpgroup copies, two multiply and
// compute softmax.
//
// A block stays on its SM and computes one pair of a task and a kv head after the other, so that
// the first tiles of the next task arrive while the current task is finished.
//
//   producer   copies the keys and the values of tiles to two rings of kStages tiles each, and the
//              tasks themselves to a ring, as far ahead as the rings allow. If kByTensorMaps, whole
//              groups of 8 tokens are boxes that the tensor memory accelerator copies: no thread
//              computes their addresses, and they report themselves when they have arrived.
//   consumers  have 64 lanes each and start products in turns. The products for a tile's scores
//              are started together with those of the previous tile's weights and values. While the
//              tensor cores still compute the latter, the softmax of the new scores is computed.
//
// Each stage has two barriers in shared memory: `full` says that its bytes have arrived and wgmma
// may read them, `empty` says that both consumers have read them.
#pragma once

#include <type_traits>

#include "core/kernels/attention/cuda/attention_merge.cuh"
#include "core/kernels/attention/cuda/attention_output.cuh"
#include "core/kernels/attention/cuda/attention_tile.cuh"
#include "core/kernels/shared/cuda/launch.cuh"

namespace reprise::kernels::cuda {

inline constexpr int kWarpsOfGroup = 4, kConsumers = 2;
inline constexpr int kGroupThreads = kWarpsOfGroup * kWarp;
// Registers of each thread of the producer and of a consumer. When the block starts, every thread
// has 168.
inline constexpr int kProducerRegisters = 56, kConsumerRegisters = 224;

// The parameter of the kernel for a tile.
template <class Tile>
using CallOf = std::conditional_t<Tile::kByTensorMaps, MappedCall, AttentionCall>;

// A place in a ring of stages. `round` counts how often the ring has been passed, and selects the
// phase of the stage's barriers.
template <int kStages>
struct RingPlace {
  int stage = 0;
  unsigned round = 0;  // modulo 2

  __device__ __forceinline__ void advance() {
    if (++stage < kStages) return;
    stage = 0;
    round ^= 1;
  }
};

// Barriers and tasks in shared memory, after the queries.
template <class Tile>
struct WarpgroupControl {
  // Three tasks are in use at once: the results of the first are being stored, the second is being
  // computed, and the copies of the third are being started, which reports the last copies of the
  // second as finished (CopyReports).
  static constexpr int kTasks = 3;
  struct Stage {
    SharedBarrier full, empty;
  };
  Stage keys[Tile::kStages], values[Tile::kStages], task[kTasks];
  SharedBarrier own[kConsumers];   // the threads of one consumer wait for each other
  SharedBarrier turn[kConsumers];  // consumer i waits here until the other one passes the turn
  AttentionTask tasks[kTasks];

  __device__ void init() {
    for (Stage& stage : keys) init_stage(stage, kWarpsOfGroup);
    for (Stage& stage : values) init_stage(stage, kWarpsOfGroup);
    for (Stage& stage : task) init_stage(stage, kWarpsOfGroup);
    for (SharedBarrier& barrier : own) barrier_init(&barrier, kWarpsOfGroup);
    for (SharedBarrier& barrier : turn) barrier_init(&barrier, kWarpsOfGroup);
  }

 private:
  static __device__ void init_stage(Stage& stage, unsigned producers) {
    barrier_init(&stage.full, producers);
    barrier_init(&stage.empty, kConsumers * kWarpsOfGroup);
  }
};

// Shared memory of a block.
template <class Tile>
struct WarpgroupMemory {
  using T = typename Tile::T;
  using Control = WarpgroupControl<Tile>;
  static_assert(sizeof(Control) <= kControlBytes);

  T* const base = dynamic_shared<T>();

  __device__ __forceinline__ T* keys(int stage) const { return base + stage * Tile::kTileElements; }
  __device__ __forceinline__ T* values(int stage) const { return keys(Tile::kStages + stage); }
  __device__ __forceinline__ T* queries() const { return keys(2 * Tile::kStages); }
  __device__ __forceinline__ Control& control() const {
    return *reinterpret_cast<Control*>(queries() + Tile::kQueryElements);
  }
};

// The (task, kv head) pairs of a block, one in each round. Tasks are sorted by length, so every
// second round gives the pairs to the blocks in reverse order, which evens out their work.
struct BlockWork {
  int round = 0;

  // Index of this round's pair; the block has no more work if it is call.work or above.
  __device__ __forceinline__ int index() const {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    return round * blocks + (round % 2 == 0 ? block : blocks - 1 - block);
  }
};

// Arrives at the barrier once for the whole warp.
__device__ __forceinline__ void warp_arrive(SharedBarrier& barrier) {
  __syncwarp();
  if (threadIdx.x % kWarp == 0) barrier_arrive(&barrier);
}

// Reports the producer's finished copies to their `full` barriers. Copies finish in the order in
// which they were started. A copy is reported once kLag later copies have been started, or at the
// end, because an earlier report would have to wait for the copy. A kLag above four would deadlock:
// a stage would be reported as full only after the next copy into it, which waits until consumers
// have freed the stage.
struct CopyReports {
  static constexpr int kLag = 2;
  SharedBarrier* waiting[kLag] = {};

  // `full` is null for a copy that reports itself.
  __device__ __forceinline__ void started(SharedBarrier* full) {
    copy_async_commit();
    copy_async_wait<kLag>();
    tell(waiting[0]);
    REPRISE_UNROLL
    for (int i = 1; i < kLag; ++i) waiting[i - 1] = waiting[i];
    waiting[kLag - 1] = full;
  }
  __device__ __forceinline__ void finish() {
    copy_async_wait<0>();
    for (SharedBarrier*& full : waiting) {
      tell(full);
      full = nullptr;
    }
  }

 private:
  static __device__ __forceinline__ void tell(SharedBarrier* full) {
    if (full == nullptr) return;
    fence_async_proxy();
    warp_arrive(*full);
  }
};

// Copies the keys or the values of a task's tiles. Each of the producer's warps copies kRows rows.
// Lanes look up places long before they are used. If the block size is a multiple of kGroup, kGroup
// tokens that begin at a multiple of kGroup lie together in one block, so one lookup serves all of
// them. Otherwise each row has a lookup of its own.
template <class Tile>
struct HalfTileCopies : TaskKeys<Tile> {
  using T = typename Tile::T;
  using Keys = TaskKeys<Tile>;
  using Place = typename Keys::Place;
  using Keys::block_tokens;
  using Keys::first_token;
  using Keys::num_keys;
  static constexpr int kRows = Tile::kKeys / kWarpsOfGroup, kGroup = 8;
  static constexpr int kAtOnce =
      kWarp / Tile::kChunks;  // rows that a warp copies with one instruction
  static_assert(kRows == kWarp && kGroup % kAtOnce == 0);

  bool has_groups;

  __device__ __forceinline__ HalfTileCopies(const AttentionCall& call, const AttentionTask& task,
                                            int kv_head)
      : Keys(call, task, kv_head),
        has_groups(first_token % kGroup == 0 && block_tokens.value % kGroup == 0) {}

  // Returns the place of the row of a tile, or of the group of rows, that this lane looks up. Rows
  // beyond the task's keys get the last key's place; the task must have a key.
  __device__ __forceinline__ Place look_up(int tile) const {
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    const int row = first_row() + (has_groups ? lane * kGroup % kRows : lane);
    unsigned token =
        first_token + static_cast<unsigned>(min(tile * Tile::kKeys + row, num_keys - 1));
    if (has_groups) token -= token % kGroup;
    return this->place_of(token);
  }

  // True if the warp's rows of the tile are whole groups of keys.
  __device__ __forceinline__ bool are_boxes(int tile) const {
    return has_groups && keys_left(tile) >= kRows;
  }
  // Starts to copy the warp's rows of a tile, if are_boxes(), and arrives at `full`, whose phase is
  // complete only when the boxes have arrived, too. A lane copies a group's part of a panel.
  // `first_element` is the index, in the map's matrix, of the element at block offset 0.
  __device__ __forceinline__ void start_boxes(const Place& place, const TensorMap* map,
                                              int64_t first_element, T* to,
                                              SharedBarrier& full) const {
    constexpr int kGroups = kRows / kGroup, kPanels = Tile::kHeadDim / Tile::kPanel;
    static_assert(kGroup == kBoxRows && Tile::kPanel == kBoxColumns && kGroups * kPanels <= kWarp);
    const int lane = static_cast<int>(threadIdx.x % kWarp);
    const int group = lane % kGroups, panel = lane / kGroups;  // look_up() gave the group's place
    if (lane == 0) barrier_arrive_expecting(&full, kRows * Tile::kHeadDim * sizeof(T));
    if (panel < kPanels)
      copy_box_async(to + Tile::at(Tile::kKeys, first_row() + group * kGroup, panel * Tile::kPanel),
                     map, panel * Tile::kPanel,
                     static_cast<int>((first_element + place.element()) / Tile::kHeadDim), &full);
  }

  // Starts to copy the warp's rows of a tile. Rows beyond the task's keys become 0: their weight is
  // 0, but 0 * NaN would make the sums NaN.
  __device__ __forceinline__ void start(int tile, const Place& place, const T* from, T* to) const {
    const int64_t element = place.element();
    const int left = keys_left(tile);
    from += column();
    if (!has_groups) {
      start_rows(element, left, from, to);
    } else if (!Tile::kByTensorMaps && left >= kRows) {  // by_tensor_maps: boxes
      start_groups</*kAreWhole=*/true>(element, left, from, to);
    } else {
      start_groups</*kAreWhole=*/false>(element, left, from, to);
    }
  }

 private:
  static __device__ __forceinline__ int first_row() {
    return static_cast<int>(threadIdx.x) / kWarp * kRows;
  }
  // The number of the task's keys from the warp's row 0 of the tile on.
  __device__ __forceinline__ int keys_left(int tile) const {
    return num_keys - tile * Tile::kKeys - first_row();
  }
  // The lane's row among the rows that one instruction copies; column() is the lane's first column.
  static __device__ __forceinline__ int row() {
    return static_cast<int>(threadIdx.x % kWarp / Tile::kChunks);
  }
  static __device__ __forceinline__ int column() {
    return static_cast<int>(threadIdx.x % kWarp % Tile::kChunks) * Tile::kChunk;
  }

  template <bool kAreWhole>
  static __device__ __forceinline__ void start_groups(int64_t element, int left, const T* from,
                                                      T* to) {
    REPRISE_UNROLL
    for (int group = 0; group < kRows / kGroup; ++group) {
      const T* const source =
          from + __shfl_sync(kAllLanes, element, group) + row() * Tile::kHeadDim;
      REPRISE_UNROLL
      for (int i = 0; i < kGroup; i += kAtOnce) {
        // The swizzle repeats every eight rows, so groups lie at equal distances.
        T* const target = to + Tile::at(Tile::kKeys, first_row() + i + row(), column()) +
                          group * kGroup * Tile::kPanel;
        const bool is_there = kAreWhole || group * kGroup + i + row() < left;
        copy_async<16>(target, source + i * Tile::kHeadDim, is_there ? 16 : 0);
      }
    }
  }
  static __device__ __forceinline__ void start_rows(int64_t element, int left, const T* from,
                                                    T* to) {
    REPRISE_KEEP_ROLLED
    for (int first = 0; first < kRows; first += kAtOnce) {
      const int in_warp = first + row();
      copy_async<16>(to + Tile::at(Tile::kKeys, first_row() + in_warp, column()),
                     from + __shfl_sync(kAllLanes, element, in_warp), in_warp < left ? 16 : 0);
    }
  }
};

// The maps of a task's keys and values; null if its cache has none.
struct TaskMaps {
  const TensorMap *keys = nullptr, *values = nullptr;
  int64_t first_element = 0;  // of the layer and kv head, for block offset 0

  template <class Call>
  __device__ __forceinline__ TaskMaps(const Call& call, const AttentionTask& task, int kv_head) {
    if constexpr (std::is_same_v<Call, MappedCall>) {
      if (task.cache >= StepMaps::kMost || (call.maps.mapped >> task.cache & 1u) == 0) return;
      const DeviceCache& cache = call.caches[task.cache];
      keys = &call.maps.caches[task.cache].keys;
      values = &call.maps.caches[task.cache].values;
      first_element = call.layer * cache.layer_stride + kv_head * cache.head_stride;
    }
  }
};

template <class Tile>
__device__ __forceinline__ void produce(const CallOf<Tile>& call) {
  using T = typename Tile::T;
  using Copies = HalfTileCopies<Tile>;
  const WarpgroupMemory<Tile> memory;
  WarpgroupControl<Tile>& control = memory.control();
  RingPlace<Tile::kStages> keys, values;
  RingPlace<WarpgroupControl<Tile>::kTasks> slot;
  CopyReports reports;
  bool may_read = false;
  for (BlockWork work; work.index() < call.work; ++work.round, slot.advance()) {
    const AttentionTask& task = call.tasks[work.index() / call.kv_heads];
    const Copies copies(call, task, work.index() % call.kv_heads);
    const TaskMaps maps(call, task, work.index() % call.kv_heads);
    // `now`: places of the tile whose values are copied next. `next`: places of the tile after that
    // one; its keys are copied before the values of `now`.
    typename Copies::Place now, next;
    if (copies.tiles > 0) next = copies.look_up(0);
    barrier_wait(&control.task[slot.stage].empty, slot.round ^ 1);
    if (threadIdx.x == 0) control.tasks[slot.stage] = task;
    // All warps arrive: otherwise a task without keys could be over before every warp has waited
    // for its slot.
    warp_arrive(control.task[slot.stage].full);
    if (task.lanes == 0 || copies.tiles == 0) {
      reports.finish();  // no later copy follows that would report these
      continue;
    }
    if (!may_read) await_previous_kernels();  // the schedule was complete before they began
    may_read = true;
    const auto copy = [&](auto& place, auto& stages, int tile, const auto& rows, const T* from,
                          const TensorMap* map, T* to) {
      auto& stage = stages[place.stage];
      barrier_wait(&stage.empty, place.round ^ 1);
      if (Tile::kByTensorMaps && map != nullptr && copies.are_boxes(tile)) {
        copies.start_boxes(rows, map, maps.first_element, to, stage.full);
        reports.started(nullptr);
      } else {
        copies.start(tile, rows, from, to);
        reports.started(&stage.full);
      }
      place.advance();
    };
    for (int tile = 0; tile <= copies.tiles; ++tile) {
      const auto after_next = copies.look_up(tile + 1);
      if (tile < copies.tiles)
        copy(keys, control.keys, tile, next, copies.keys, maps.keys, memory.keys(keys.stage));
      if (tile > 0)
        copy(values, control.values, tile - 1, now, copies.values, maps.values,
             memory.values(values.stage));
      now = next;
      next = after_next;
    }
  }
  reports.finish();
}

// One of the warpgroups that multiply.
template <class Tile>
struct Consumer {
  using T = typename Tile::T;
  static constexpr int kOwnLanes = Tile::kLanes / kConsumers;

  const AttentionCall& call;
  WarpgroupMemory<Tile> memory;
  int number;  // 0 or 1
  RingPlace<Tile::kStages> keys, values;
  unsigned own_round = 0, turn_round = 0;

  __device__ __forceinline__ Consumer(const AttentionCall& of_call, int of_number)
      : call(of_call), number(of_number) {}

  // Waits until all threads of the warpgroup have called meet().
  __device__ __forceinline__ void meet() {
    SharedBarrier& own = memory.control().own[number];
    warp_arrive(own);
    barrier_wait(&own, own_round);
    own_round ^= 1;
  }

  // The two consumers start products in turns, so that one multiplies while the other computes its
  // softmax. Consumer 0 has the first turn.
  __device__ __forceinline__ void take_turn() {
    barrier_wait(&memory.control().turn[number], turn_round ^ (number == 0 ? 1u : 0u));
    turn_round ^= 1;
  }
  __device__ __forceinline__ void pass_turn() { warp_arrive(memory.control().turn[1 - number]); }

  __device__ __forceinline__ int first_lane() const { return kOwnLanes * number; }
  __device__ __forceinline__ const T* own_queries() const {
    return memory.queries() + first_lane() * Tile::kPanel;
  }

  // Starts scores = q k^T for the next tile of keys.
  __device__ __forceinline__ void begin_keys(WarpScores<Tile>& scores) {
    barrier_wait(&memory.control().keys[keys.stage].full, keys.round);
    start_keys<Tile>(own_queries(), memory.keys(keys.stage), scores);
    warpgroup_commit();
  }
  __device__ __forceinline__ void release_keys() {
    warp_arrive(memory.control().keys[keys.stage].empty);
    keys.advance();
  }
  // Starts o += weights v for the tile to which `weights` belong, or o = weights v if `are_first`.
  __device__ __forceinline__ void begin_values(WarpState<Tile>& state,
                                               const WarpWeights<Tile>& weights, bool are_first) {
    barrier_wait(&memory.control().values[values.stage].full, values.round);
    start_values<Tile>(state, weights, memory.values(values.stage), are_first);
    warpgroup_commit();
  }
  __device__ __forceinline__ void finish_values(WarpState<Tile>& state) {
    warpgroup_wait<0>(state.o);
    warp_arrive(memory.control().values[values.stage].empty);
    values.advance();
  }

  static __device__ __forceinline__ void round_all(const WarpScores<Tile>& scores,
                                                   WarpWeights<Tile>& weights) {
    REPRISE_UNROLL
    for (int j = 0; j < Tile::kWarpKeys / 16; ++j) round_weights<Tile>(scores, j, weights[j]);
  }

  // Number of tiles that the keys of a task take.
  static __device__ __forceinline__ int tiles_of(const AttentionTask& task) {
    return (task.end_key - task.first_key + Tile::kKeys - 1) / Tile::kKeys;
  }

  // Computes a task's tiles, except that the weights of the last tile are left in `weights`, not
  // yet multiplied with the values. The caller has started the products for the first tile's
  // scores.
  __device__ __forceinline__ void compute(const AttentionTask& task, const ThreadLane (&lanes)[2],
                                          WarpScores<Tile>& scores, WarpWeights<Tile>& weights,
                                          WarpState<Tile>& state) {
    warpgroup_wait<0>(scores);
    release_keys();
    finish_scores<Tile>(call, task, lanes, task.first_key, scores);
    weigh_scores<Tile>(call, state, scores);
    round_all(scores, weights);
    const int tiles = tiles_of(task);
    for (int tile = 1; tile < tiles; ++tile) {
      take_turn();
      warpgroup_begin(scores, state.o);
      begin_keys(scores);
      begin_values(state, weights, /*are_first=*/tile == 1);
      pass_turn();
      warpgroup_wait<1>(scores);
      release_keys();
      finish_scores<Tile>(call, task, lanes, task.first_key + tile * Tile::kKeys, scores);
      const float2 corrections = weigh_scores<Tile>(call, state, scores);
      finish_values(state);
      correct_sums<Tile>(state, corrections);
      round_all(scores, weights);
    }
  }
};

// Iterates over the tasks of a consumer, in the order in which the producer announces them.
template <class Tile>
struct TaskQueue {
  const AttentionCall& call;
  WarpgroupControl<Tile>& control;
  int first_lane;  // the consumer's first lane
  BlockWork work;
  RingPlace<WarpgroupControl<Tile>::kTasks> slot;

  [[nodiscard]] __device__ __forceinline__ const AttentionTask& task() const {
    return control.tasks[slot.stage];
  }
  [[nodiscard]] __device__ __forceinline__ int kv_head() const {
    return work.index() % call.kv_heads;
  }
  [[nodiscard]] __device__ __forceinline__ SharedBarrier& empty() const {
    return control.task[slot.stage].empty;
  }
  __device__ __forceinline__ void advance() {
    slot.advance();
    ++work.round;
  }

  __device__ __forceinline__ void find_lanes(ThreadLane (&lanes)[2]) const {
    const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
    const int lane = first_lane + thread / kWarp * 16 + thread % kWarp / 4;
    lanes[0] = thread_lane(call, task(), kv_head(), lane);
    lanes[1] = thread_lane(call, task(), kv_head(), lane + 8);
  }

  // Waits for the next task. True if there is one, and it has keys.
  __device__ __forceinline__ bool has_keys() const {
    if (work.index() >= call.work) return false;
    barrier_wait(&control.task[slot.stage].full, slot.round);
    return task().lanes > 0 && task().first_key < task().end_key;
  }

  // Goes on to the next task that has keys, and finishes tasks that have none on the way. Returns
  // false if no task is left. The consumer must have freed all earlier tasks, because the third
  // task after a task uses the same slot.
  __device__ __forceinline__ bool find() {
    for (; work.index() < call.work; advance()) {
      if (has_keys()) return true;
      if (task().lanes > 0) {
        ThreadLane lanes[2];
        WarpState<Tile> nothing;
        find_lanes(lanes);
        begin_state<Tile>(nothing);
        store_lanes<Tile>(call, task(), lanes, results_of<Tile>(task(), nothing));
      }
      warp_arrive(empty());
    }
    return false;
  }
};

// Merges the rows of a consumer's lanes whose last part this block has stored. This happens once,
// after all tasks of the block, because the loop over the tasks has no registers left for it.
template <class Tile>
__device__ __forceinline__ void merge_finished_tasks(const AttentionCall& call,
                                                     Consumer<Tile>& own) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp % kWarpsOfGroup;
  own.meet();  // all results of the consumer are stored
  for (BlockWork work; work.index() < call.work; ++work.round) {
    const AttentionTask task = call.tasks[work.index() / call.kv_heads];
    if (is_alone(task)) continue;
    merge_finished_lanes<Tile, kWarpsOfGroup>(
        call, task, work.index() % call.kv_heads, own.first_lane(),
        min(task.lanes, own.first_lane() + Consumer<Tile>::kOwnLanes), warp);
  }
}

// Runs the tasks of a consumer. If the next task has keys, its queries are copied while the last
// values of the current task are added, and the products for its first scores run while the results
// of the current task are stored.
template <class Tile>
__device__ __forceinline__ void consume(const AttentionCall& call) {
  using Own = Consumer<Tile>;
  // A shuffle tells the compiler that all threads of a warp take the same branch.
  Own own(call, __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kGroupThreads, 0) - 1);
  TaskQueue<Tile> queue{
      .call = call, .control = own.memory.control(), .first_lane = own.first_lane()};
  const auto bring_queries = [&] {
    QueryCopies<Tile, Own::kOwnLanes, kGroupThreads> queries{.first_lane = own.first_lane(),
                                                             .thread = threadIdx.x % kGroupThreads};
    queries.load(call, queue.task(), queue.kv_head());
    queries.store(call, queue.task(), own.memory.queries());
    fence_async_proxy();
  };
  await_previous_kernels();
  // The task whose results are computed but not stored; null before the first one.
  const AttentionTask* last = nullptr;
  SharedBarrier* last_empty = nullptr;
  LaneResults<Tile> results;
  ThreadLane lanes[2];
  const auto store_last = [&] {
    if (last == nullptr) return;
    store_lanes<Tile>(call, *last, lanes, results);
    warp_arrive(*last_empty);
  };
  // There is a single loop, because in nested loops ptxas makes each wgmma wait for the one before
  // it.
  for (bool has_next = false;;) {
    if (!has_next) {
      store_last();
      last = nullptr;
      if (!queue.find()) break;
      bring_queries();
    }
    WarpScores<Tile> scores;
    WarpWeights<Tile> weights;
    WarpState<Tile> state;
    own.meet();  // the queries are there
    warpgroup_begin(scores);
    own.begin_keys(scores);
    store_last();
    const AttentionTask& task = queue.task();
    last = &task;
    last_empty = &queue.empty();
    queue.find_lanes(lanes);
    begin_softmax<Tile>(state);
    own.compute(task, lanes, scores, weights, state);
    queue.advance();
    has_next = queue.has_keys();
    own.meet();  // nobody multiplies the queries any more
    warpgroup_begin(state.o);
    own.begin_values(state, weights, /*are_first=*/Own::tiles_of(task) == 1);
    if (has_next) bring_queries();
    own.finish_values(state);
    results = results_of<Tile>(task, state);
  }
  if (call.arrivals != nullptr) merge_finished_tasks(call, own);
}

// Grid: at most as many blocks as the device has SMs. Block: Tile::kThreads. Dynamic shared memory:
// Tile::kSharedBytes.
template <class Tile>
__device__ __forceinline__ void attention_by_warpgroups(const CallOf<Tile>& call) {
  static_assert(Tile::kThreads == (1 + kConsumers) * kGroupThreads && Tile::kKeyWarps == 1);
  static_assert(Tile::kLanes == kConsumers * 64);
  let_next_kernel_begin();
  if (threadIdx.x == 0) {
    WarpgroupMemory<Tile>().control().init();
    if (Tile::kByTensorMaps) fence_async_proxy();  // copies of boxes arrive at the barriers, too
  }
  __syncthreads();
  if (__shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kGroupThreads, 0) == 0) {
    lower_registers<kProducerRegisters>();
    produce<Tile>(call);
  } else {
    raise_registers<kConsumerRegisters>();
    consume<Tile>(call);
  }
}

}  // namespace reprise::kernels::cuda
