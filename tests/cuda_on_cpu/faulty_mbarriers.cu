// Kernels whose warps synchronise by mbarriers: a ring of tiles, with one fault in each kernel, and
// smaller kernels.
#include "core/kernels/attention/cuda/tensor_map.h"
#include "tests/cuda_on_cpu/faulty_kernels.h"
#include "tests/cuda_on_cpu/run_tiny.cuh"

namespace reprise::kernels::cuda::faulty {
namespace {

using enum FaultKind;

// ---- A ring: a warpgroup copies tiles, two others multiply them ----

enum class Slip : uint8_t {
  kNone,
  kOneLaneReleases,       // no fault: a lane arrives at `empty` for its warp, which has waited
  kStageNotAwaited,       // copies without waiting for `empty`
  kCopyBeforeTheWait,     // waits for `empty` only after it has begun to copy
  kTileNotAwaited,        // multiplies without waiting for `full`
  kTileAwaitedTooLate,    // waits for `full` only after wgmma was started
  kCopyNotAwaited,        // arrives at `full` while the copy is under way
  kNoProxyFence,          // does not call fence.proxy.async
  kProxyFenceTooLate,     // calls fence.proxy.async after it has arrived
  kStageReleasedTooSoon,  // arrives at `empty` before wgmma was waited for
  kOneArrivalTooMany,     // `full` waits for an arrival that nobody makes
  kTooFewArrivals,        // `full` is complete when half the producers have arrived
  kOneConsumerCounted     // `empty` is complete when one of two warpgroups has arrived
};

constexpr int kStages = 3, kTiles = 7, kProducers = 128, kConsumers = 256;
constexpr int kTileBytes = 64 * kSwizzledBytes;
constexpr unsigned kRingThreads = kProducers + kConsumers;
constexpr unsigned kRingFloats = kStages * kTileBytes / sizeof(float);

struct RingBarriers {
  SharedBarrier full[kStages], empty[kStages];
};

template <Slip kSlip>
__device__ void produce(const float* data, RingBarriers& ring) {
  using enum Slip;
  for (int tile = 0; tile < kTiles; ++tile) {
    const int stage = tile % kStages;
    const auto wait_for_stage = [&] {
      barrier_wait(&ring.empty[stage], static_cast<unsigned>(tile / kStages + 1) % 2);
    };
    if constexpr (kSlip != kStageNotAwaited && kSlip != kCopyBeforeTheWait) wait_for_stage();
    auto* const to = dynamic_shared<unsigned char>() + stage * kTileBytes;
    for (int i = static_cast<int>(threadIdx.x); i < kTileBytes / 16; i += kProducers)
      copy_async<16>(to + 16 * i, data + 4 * (i % 16));
    copy_async_commit();
    if constexpr (kSlip == kCopyBeforeTheWait) wait_for_stage();
    if constexpr (kSlip != kCopyNotAwaited) copy_async_wait<0>();
    if constexpr (kSlip != kNoProxyFence && kSlip != kProxyFenceTooLate) fence_async_proxy();
    barrier_arrive(&ring.full[stage]);
    if constexpr (kSlip == kProxyFenceTooLate) fence_async_proxy();
  }
}

template <Slip kSlip>
__device__ void consume(RingBarriers& ring) {
  using enum Slip;
  const uint32_t a[4] = {0, 0, 0, 0};
  float sums[8][4] = {};
  for (int tile = 0; tile < kTiles; ++tile) {
    const int stage = tile % kStages;
    const auto wait_for_tile = [&] {
      barrier_wait(&ring.full[stage], static_cast<unsigned>(tile / kStages) % 2);
    };
    if constexpr (kSlip != kTileNotAwaited && kSlip != kTileAwaitedTooLate) wait_for_tile();
    const auto* const from = dynamic_shared<unsigned char>() + stage * kTileBytes;
    warpgroup_begin(sums);
    warpgroup_multiply_add<__half, RowsOfB::kColumnsOfProduct>(
        sums, a, swizzled_matrix(from, 0, 8 * kSwizzledBytes));
    warpgroup_commit();
    if constexpr (kSlip == kTileAwaitedTooLate) wait_for_tile();
    if constexpr (kSlip == kStageReleasedTooSoon) barrier_arrive(&ring.empty[stage]);
    warpgroup_wait<0>(sums);
    if constexpr (kSlip != kStageReleasedTooSoon)
      if (kSlip != kOneLaneReleases || threadIdx.x % cuda::kWarp == 5)
        barrier_arrive(&ring.empty[stage]);
  }
}

template <Slip kSlip>
__global__ void ring_of_tiles(float* data, int) {
  using enum Slip;
  REPRISE_SHARED(RingBarriers, ring);
  if (threadIdx.x == 0) {
    constexpr unsigned kFull = kSlip == kOneArrivalTooMany ? kProducers + 1
                               : kSlip == kTooFewArrivals  ? kProducers / 2
                                                           : kProducers;
    constexpr unsigned kEmpty = kSlip == kOneConsumerCounted ? kConsumers / 2
                                : kSlip == kOneLaneReleases  ? kConsumers / cuda::kWarp
                                                             : kConsumers;
    for (SharedBarrier& full : ring.full) barrier_init(&full, kFull);
    for (SharedBarrier& empty : ring.empty) barrier_init(&empty, kEmpty);
  }
  __syncthreads();
  if (threadIdx.x < kProducers) {
    lower_registers<40>();
    produce<kSlip>(data, ring);
  } else {
    raise_registers<232>();
    consume<kSlip>(ring);
  }
}

template <Slip kSlip>
void run_ring() {
  run<ring_of_tiles<kSlip>, kRingThreads, kRingFloats>();
}

// ---- What arrivals and waits order. Threads 0 to n - 1 write, and n threads from thread n on
// read. ----

template <typename Body>
__device__ void with_barrier(unsigned arrivals, const Body& body) {
  REPRISE_SHARED(SharedBarrier, barrier);
  if (threadIdx.x == 0) barrier_init(&barrier, arrivals);
  if (threadIdx.x < kFloats) dynamic_shared<float>()[threadIdx.x] = 0.0f;
  __syncthreads();
  body(&barrier, dynamic_shared<float>(), static_cast<int>(threadIdx.x));
}

__global__ void lanes_hand_over(float* data, int n) {
  with_barrier(static_cast<unsigned>(n), [&](SharedBarrier* barrier, float* shared, int t) {
    if (t < n) {
      shared[t] = data[n + t] = 2.0f;
      barrier_arrive(barrier);
    } else {
      barrier_wait(barrier, 0);
      data[t - n] = shared[2 * n - 1 - t] + data[3 * n - 1 - t];
    }
  });
}
__global__ void one_lane_arrives_for_its_warp(float* data, int n) {
  with_barrier(1, [&](SharedBarrier* barrier, float* shared, int t) {
    if (t < n) {
      shared[t] = 2.0f;
      __syncwarp();
      if (t == 0) barrier_arrive(barrier);
    } else {
      if (t == n + 3) barrier_wait(barrier, 0);
      __syncwarp();
      data[t] = shared[2 * n - 1 - t];
    }
  });
}
__global__ void one_lane_arrives_alone(float* data, int n) {
  with_barrier(1, [&](SharedBarrier* barrier, float* shared, int t) {
    if (t < n) {
      shared[t] = 2.0f;
      if (t == n - 1) barrier_arrive(barrier);
    } else {
      barrier_wait(barrier, 0);
      data[t] = shared[2 * n - 1 - t];
    }
  });
}
__global__ void one_lane_waits_alone(float* data, int n) {
  with_barrier(static_cast<unsigned>(n), [&](SharedBarrier* barrier, float* shared, int t) {
    if (t < n) {
      shared[t] = 2.0f;
      barrier_arrive(barrier);
    } else {
      if (t == n) barrier_wait(barrier, 0);
      data[t] = shared[2 * n - 1 - t];
    }
  });
}
__global__ void write_after_warp_barrier(float* data, int n) {
  with_barrier(static_cast<unsigned>(n), [&](SharedBarrier*, float* shared, int t) {
    __syncwarp();
    shared[t] = 2.0f;
    data[t] = shared[t ^ 1];
  });
}
__global__ void write_after_arrival(float* data, int n) {
  with_barrier(static_cast<unsigned>(n), [&](SharedBarrier* barrier, float* shared, int t) {
    if (t < n) {
      barrier_arrive(barrier);
      shared[t] = 2.0f;
    } else {
      barrier_wait(barrier, 0);
      if (t == n) shared[0] = data[0];
    }
  });
}
__global__ void write_while_others_read(float* data, int n) {
  with_barrier(static_cast<unsigned>(n), [&](SharedBarrier* barrier, float* shared, int t) {
    if (t < n) {
      shared[t] = 2.0f;
      barrier_arrive(barrier);
    }
    barrier_wait(barrier, 0);
    data[t] = shared[0];
    if (t == n) shared[0] = 1.0f;
  });
}
__global__ void global_without_wait(float* data, int n) {
  with_barrier(static_cast<unsigned>(n), [&](SharedBarrier* barrier, float*, int t) {
    if (t < n) {
      data[t] = 2.0f;
      barrier_arrive(barrier);
    } else {
      data[2 * n - 1 - t] = 3.0f;
    }
  });
}
// Warp 2 knows warp 0's writes through warp 1, which reads nothing.
__global__ void three_warps_in_a_chain(float* data, int n) {
  REPRISE_SHARED(SharedBarrier[2], barriers);
  float* shared = dynamic_shared<float>();
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0)
    for (SharedBarrier& barrier : barriers) barrier_init(&barrier, static_cast<unsigned>(n));
  __syncthreads();
  if (t < n) {
    shared[t] = 2.0f;
    barrier_arrive(&barriers[0]);
  } else if (t < 2 * n) {
    barrier_wait(&barriers[0], 0);
    barrier_arrive(&barriers[1]);
  } else {
    barrier_wait(&barriers[1], 0);
    data[t - 2 * n] = shared[3 * n - 1 - t];
  }
}
__global__ void others_have_returned(float* data, int n) {
  with_barrier(static_cast<unsigned>(n), [&](SharedBarrier* barrier, float* shared, int t) {
    if (t >= 2 * n) return;
    if (t < n) {
      shared[t] = 2.0f;
      barrier_arrive(barrier);
    } else {
      barrier_wait(barrier, 0);
      data[t] = shared[2 * n - 1 - t];
    }
  });
}

// Makes so many reads, each at another time, that the emulator forgets those that later reads
// replace. It must not forget the last thread's read of the first number.
__global__ void write_after_many_reads(float* data, int n) {
  constexpr int kRounds = 1000;
  with_barrier(2 * kFloats * kRounds, [&](SharedBarrier* barrier, float* shared, int t) {
    float sum = t == 2 * n - 1 ? shared[0] : 0.0f;
    for (int round = 0; round < kRounds; ++round) {
      sum += shared[n];
      barrier_arrive(barrier);
    }
    data[t] = sum;
    if (t == 2 * n - 2) shared[0] = 1.0f;
  });
}

// ---- Misused barriers ----

__global__ void never_initialised(float* data, int) {
  barrier_arrive(dynamic_shared<SharedBarrier>());
  data[0] = 1.0f;
}
__global__ void initialised_twice(float*, int n) {
  for (int i = 0; i < 2; ++i)
    barrier_init(dynamic_shared<SharedBarrier>(), static_cast<unsigned>(n));
}
__global__ void no_arrivals(float*, int n) {
  barrier_init(dynamic_shared<SharedBarrier>(), static_cast<unsigned>(n - 32));
}
__global__ void barrier_unaligned(float*, int n) {
  auto* shared = dynamic_shared<unsigned char>() + n / 8;
  barrier_init(reinterpret_cast<SharedBarrier*>(shared), 1);
}
__global__ void barrier_in_global(float* data, int) {
  barrier_init(reinterpret_cast<SharedBarrier*>(data), 1);
}
__global__ void used_at_once(float*, int n) {
  if (threadIdx.x == 0) barrier_init(dynamic_shared<SharedBarrier>(), static_cast<unsigned>(n));
  barrier_arrive(dynamic_shared<SharedBarrier>());
}
__global__ void barrier_read(float* data, int) {
  with_barrier(
      1, [&](SharedBarrier* barrier, float*, int) { data[0] = static_cast<float>(*barrier); });
}
__global__ void barrier_written(float*, int) {
  with_barrier(1, [&](SharedBarrier* barrier, float*, int) { *barrier = 0; });
}
__global__ void parity_of_a_phase(float*, int n) {
  with_barrier(1, [&](SharedBarrier* barrier, float*, int) {
    barrier_wait(barrier, static_cast<unsigned>(n) / 16);
  });
}
__global__ void never_complete(float*, int n) {
  with_barrier(static_cast<unsigned>(n) + 1, [&](SharedBarrier* barrier, float*, int) {
    barrier_arrive(barrier);
    barrier_wait(barrier, 0);
  });
}
// The last lane finds phase 1 complete when it waits for phase 0.
__global__ void wait_overtaken(float*, int n) {
  with_barrier(1, [&](SharedBarrier* barrier, float*, int t) {
    if (t == 0) {
      barrier_arrive(barrier);
      barrier_arrive(barrier);
    }
    __syncwarp();
    if (t == n - 1) barrier_wait(barrier, 0);
  });
}
// Thread n completes two phases while thread 0 waits for the first.
__global__ void waiting_thread_overtaken(float*, int n) {
  with_barrier(1, [&](SharedBarrier* barrier, float*, int t) {
    if (t == 0) barrier_wait(barrier, 0);
    if (t == n) {
      barrier_arrive(barrier);
      barrier_arrive(barrier);
    }
  });
}
__global__ void same_parity_again(float*, int n) {
  with_barrier(static_cast<unsigned>(n), [&](SharedBarrier* barrier, float*, int) {
    for (int round = 0; round < 2; ++round) {
      barrier_arrive(barrier);
      barrier_wait(barrier, 0);
    }
    barrier_wait(barrier, 0);
    barrier_wait(barrier, 0);
  });
}

// ---- Boxes: thread 0 copies two, each for a barrier of its own, and all threads read the second
// one. ----

enum class BoxSlip : uint8_t {
  kNone,
  kNotAwaited,
  kOtherAwaited,     // waits for the first box alone
  kTooFewExpected,   // each barrier expects half a box
  kTooManyExpected,  // each barrier expects two boxes
  kLeftUnderWay,     // each barrier expects two boxes, and nobody waits
  kArrivesAgain,     // each barrier expects two boxes, and the thread arrives twice
  kUnaligned,        // copies to the second row of a panel
  kPastEnd,          // copies rows that the matrix does not have
  kNoPanel,          // copies from the middle of a panel
  kNoProxyFence      // copies, without a fence, to where a thread has written
};

struct BoxBarriers {
  SharedBarrier of[2];
};

template <BoxSlip kSlip>
__global__ void copy_two_boxes(const __grid_constant__ TensorMap map, float* out) {
  using enum BoxSlip;
  constexpr unsigned kExpected = kSlip == kTooFewExpected    ? 512
                                 : kSlip == kTooManyExpected ? 2048
                                 : kSlip == kLeftUnderWay    ? 2048
                                 : kSlip == kArrivesAgain    ? 2048
                                                             : 1024;
  REPRISE_SHARED(BoxBarriers, barriers);
  auto* const boxes = dynamic_shared<unsigned char>();
  if (threadIdx.x == 0)
    for (SharedBarrier& barrier : barriers.of) barrier_init(&barrier, 1);
  boxes[1024 + threadIdx.x] = 1;
  if constexpr (kSlip != kNoProxyFence) fence_async_proxy();
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; ++i) {
      barrier_arrive_expecting(&barriers.of[i], kExpected);
      if constexpr (kSlip == kArrivesAgain) barrier_arrive(&barriers.of[i]);
      copy_box_async(boxes + 1024 * i + (kSlip == kUnaligned ? 128 : 0), &map,
                     kSlip == kNoPanel ? 32 : 0, kSlip == kPastEnd ? 9 : 8 * i, &barriers.of[i]);
    }
  if constexpr (kSlip == kLeftUnderWay) return;
  if constexpr (kSlip != kNotAwaited) barrier_wait(&barriers.of[kSlip != kOtherAwaited], 0);
  out[threadIdx.x] = boxes[1024 + threadIdx.x];
}

template <BoxSlip kSlip>
void run_boxes() {
  const DeviceArray<uint16_t> matrix(std::vector<uint16_t>(16 * 64, 1));
  const DeviceArray<float> out(32);
  launch({.name = "tiny", .block = dim3(32), .shared_bytes = 4096}, nullptr, copy_two_boxes<kSlip>,
         map_of_rows(matrix.data(), 64), out.data());
}

constexpr FaultyKernel kFaultyMbarriers[] = {
    {"box_not_awaited", kRace, "read by others", run_boxes<BoxSlip::kNotAwaited>},
    {"other_box_awaited", kRace, "a copy of a box wrote it", run_boxes<BoxSlip::kOtherAwaited>},
    {"too_few_bytes_expected", kBarrier, "512 bytes more are copied",
     run_boxes<BoxSlip::kTooFewExpected>},
    {"too_many_bytes_expected", kDeadlock, "0 of 1 arrivals and 1024 bytes missing",
     run_boxes<BoxSlip::kTooManyExpected>},
    {"box_left_under_way", kInFlight, "has ended while 1 boxes are copied",
     run_boxes<BoxSlip::kLeftUnderWay>},
    {"arrives_while_bytes_are_missing", kBarrier, "waits for bytes",
     run_boxes<BoxSlip::kArrivesAgain>},
    {"box_unaligned", kUnaligned, "no multiple of 1024", run_boxes<BoxSlip::kUnaligned>},
    {"box_past_end", kOutOfBounds, "row 9, column 0", run_boxes<BoxSlip::kPastEnd>},
    {"box_of_no_panel", kOutOfBounds, "no panel of 64 columns", run_boxes<BoxSlip::kNoPanel>},
    {"box_without_proxy_fence", kRace, "has not called fence.proxy.async",
     run_boxes<BoxSlip::kNoProxyFence>},
    {"stage_not_awaited", kBarrier, "may still wait for phase 0", run_ring<Slip::kStageNotAwaited>},
    {"copy_before_the_wait", kInFlight, "wgmma reads B", run_ring<Slip::kCopyBeforeTheWait>},
    {"tile_not_awaited", kRace, "wgmma reads B", run_ring<Slip::kTileNotAwaited>},
    {"tile_awaited_too_late", kRace, "wgmma reads B", run_ring<Slip::kTileAwaitedTooLate>},
    {"copy_not_awaited", kInFlight, "has not waited", run_ring<Slip::kCopyNotAwaited>},
    {"no_proxy_fence", kRace, "has not called fence.proxy.async", run_ring<Slip::kNoProxyFence>},
    {"proxy_fence_too_late", kRace, "between the fence and this",
     run_ring<Slip::kProxyFenceTooLate>},
    {"stage_released_too_soon", kRace, "the wgmma of warp", run_ring<Slip::kStageReleasedTooSoon>},
    {"one_arrival_too_many", kDeadlock,
     "for phase 0 (parity 0) of the mbarrier at byte 0 of a shared variable of 48 bytes, 1 of 129 "
     "arrivals missing",
     run_ring<Slip::kOneArrivalTooMany>},
    {"too_few_arrivals", kBarrier, "completes phase 1", run_ring<Slip::kTooFewArrivals>},
    {"one_consumer_counted", kBarrier, "completes phase 1", run_ring<Slip::kOneConsumerCounted>},
    {"one_lane_arrives_alone", kRace, "wrote it", run<one_lane_arrives_alone, 64>},
    {"one_lane_waits_alone", kRace, "with no barrier in between", run<one_lane_waits_alone, 64>},
    {"write_after_warp_barrier", kRace, "with no barrier in between",
     run<write_after_warp_barrier, 64>},
    {"write_after_arrival", kRace, "wrote it too", run<write_after_arrival, 64>},
    {"write_while_others_read", kRace, "read by others", run<write_while_others_read, 64>},
    {"write_after_many_reads", kRace, "read by others, thread 63 the last",
     run<write_after_many_reads, 64>},
    {"global_without_wait", kRace, "in the same launch", run<global_without_wait, 64>},
    {"never_initialised", kBarrier, "none is initialised", run<never_initialised, 1>},
    {"initialised_twice", kBarrier, "since thread 0 initialised it", run<initialised_twice, 1>},
    {"no_arrivals", kBarrier, "with 0 arrivals", run<no_arrivals, 1>},
    {"barrier_unaligned", kUnaligned, "multiple of 8", run<barrier_unaligned, 1>},
    {"barrier_in_global", kOutOfBounds, "not in shared memory", run<barrier_in_global, 1>},
    {"used_at_once", kRace, "thread 0 initialised it", run<used_at_once, 32>},
    {"barrier_read", kBarrier, "it is an mbarrier", run<barrier_read, 1>},
    {"barrier_written", kBarrier, "it is an mbarrier", run<barrier_written, 1>},
    {"parity_of_a_phase", kBarrier, "for parity 2", run<parity_of_a_phase, 1>},
    {"never_complete", kDeadlock, "1 of 33 arrivals missing", run<never_complete, 32>},
    {"wait_overtaken", kBarrier, "after phase 1 was complete", run<wait_overtaken, 32>},
    {"waiting_thread_overtaken", kBarrier, "thread 0 may still wait for phase 0",
     run<waiting_thread_overtaken, 64>},
    {"same_parity_again", kDeadlock, "for phase 2 (parity 0)", run<same_parity_again, 32>},
};

constexpr CleanKernel kCleanMbarriers[] = {
    {"ring_of_tiles", run_ring<Slip::kNone>},
    {"one_lane_releases", run_ring<Slip::kOneLaneReleases>},
    {"copy_two_boxes", run_boxes<BoxSlip::kNone>},
    {"lanes_hand_over", run<lanes_hand_over, 64>},
    {"one_lane_arrives_for_its_warp", run<one_lane_arrives_for_its_warp, 64>},
    {"three_warps_in_a_chain", run<three_warps_in_a_chain, 96>},
    {"others_have_returned", run<others_have_returned, 128>},
};

}  // namespace

std::span<const FaultyKernel> faulty_mbarriers() { return kFaultyMbarriers; }
std::span<const CleanKernel> clean_mbarriers() { return kCleanMbarriers; }

}  // namespace reprise::kernels::cuda::faulty
