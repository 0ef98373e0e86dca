// Launches: refuses what no device would start, and then runs the blocks one after the other.
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/arena.h"
#include "tests/cuda_on_cpu/block.h"
#include "tests/cuda_on_cpu/order.h"

namespace cuda_on_cpu {
namespace {

// [CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"]
void check_shape(const Launch& launch) {
  const dim3 &g = launch.grid, &b = launch.block;
  const uint64_t threads = uint64_t{b.x} * b.y * b.z;
  std::string problem;
  if (threads == 0 || threads > 1024 || b.z > 64)
    problem = fmt::format("{} x {} x {} threads a block: at least 1, at most 1024, 64 in z", b.x,
                          b.y, b.z);
  if (g.x == 0 || g.y == 0 || g.z == 0 || g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535)
    problem = fmt::format(
        "a grid of {} x {} x {} blocks: at least 1, at most 2^31 - 1, 65535 and "
        "65535",
        g.x, g.y, g.z);
  if (launch.shared_bytes > SharedMemory::kMostBytes)
    problem = fmt::format("{} bytes of shared memory: at most {}", launch.shared_bytes,
                          SharedMemory::kMostBytes);
  if (!problem.empty())
    throw Fault(FaultKind::kLaunch, fmt::format("{}: kernel {}: {}", name_of(FaultKind::kLaunch),
                                                launch.name, problem));
}

// The numbers of a launch's blocks, in the order in which they run.
std::vector<size_t> ordered_blocks(const dim3& grid, const WantedOrder& order) {
  std::vector<size_t> blocks(size_t{grid.x} * grid.y * grid.z);
  std::iota(blocks.begin(), blocks.end(), size_t{0});
  if (order.order == Order::kBackward) std::reverse(blocks.begin(), blocks.end());
  if (order.order == Order::kRandom)
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(order.seed));
  return blocks;
}

}  // namespace

void run_grid(const Launch& launch, void* parameters, size_t parameter_bytes,
              void (*call)(void* parameters)) {
  check_shape(launch);
  const OpenMemory open;
  Block block(launch, parameters, parameter_bytes, call);
  const WantedOrder order = wanted_order();
  block.draw_from(order.seed);
  const size_t width = launch.grid.x, height = launch.grid.y;
  for (const size_t number : ordered_blocks(launch.grid, order))
    block.run(
        {static_cast<unsigned>(number % width), static_cast<unsigned>(number / width % height),
         static_cast<unsigned>(number / width / height)},
        order.order);
  if (block.may_end_first())
    throw Fault(
        FaultKind::kRace,
        fmt::format("{}: kernel {}: it begins early, and none of its threads has waited for "
                    "the kernels before it, so it may end before they do",
                    name_of(FaultKind::kRace), launch.name));
}

}  // namespace cuda_on_cpu
