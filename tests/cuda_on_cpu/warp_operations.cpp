// The operations that the lanes of a warp do together: barriers, shuffles, votes, matrices.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/cuda_on_cpu/block.h"
#include "tests/cuda_on_cpu/include/cuda_bf16.h"
#include "tests/cuda_on_cpu/include/cuda_fp16.h"
#include "tests/cuda_on_cpu/include/cuda_runtime.h"

namespace cuda_on_cpu {
namespace {

using Operands = std::span<void* const, 32>;
constexpr uint32_t kAllLanes = 0xffffffffu;

template <typename Fn>
void for_lanes(uint32_t lanes, Fn&& fn) {
  for (int lane = 0; lane < 32; ++lane)
    if (lanes >> lane & 1u) fn(lane);
}

template <typename T>
T& operand(Operands operands, int lane) {
  return *static_cast<T*>(operands[static_cast<size_t>(lane)]);
}

// ---- Shuffles and votes ----

struct ShuffleOperand {
  uint64_t value, result;
  int source;
};

void compute_shuffle(Operands operands, uint32_t lanes) {
  for_lanes(lanes, [&](int lane) {
    auto& own = operand<ShuffleOperand>(operands, lane);
    if ((lanes >> own.source & 1u) == 0)
      Block::running()->report(FaultKind::kWarp,
                               fmt::format("lane {} reads lane {} in a shuffle that it takes no "
                                           "part in",
                                           lane, own.source));
    own.result = operand<ShuffleOperand>(operands, own.source).value;
  });
}

struct VoteOperand {
  bool vote;
  uint32_t ballot;
};

void compute_vote(Operands operands, uint32_t lanes) {
  uint32_t ballot = 0;
  for_lanes(lanes, [&](int lane) {
    if (operand<VoteOperand>(operands, lane).vote) ballot |= 1u << lane;
  });
  for_lanes(lanes, [&](int lane) { operand<VoteOperand>(operands, lane).ballot = ballot; });
}

// Returns the lanes that voted yes. `lanes` is set to all lanes that took part.
uint32_t vote(const char* name, uint32_t mask, bool own, const std::source_location& where) {
  const InEmulator in_emulator;
  VoteOperand operand{own, 0};
  Block::running()->meet({.name = name, .place = {where}, .mask = mask, .compute = compute_vote},
                         &operand);
  return operand.ballot;
}

// ---- ldmatrix ----

struct MatrixOperand {
  uint32_t* registers;
  int matrices;
  const void* row;
  bool is_transposed;
};

void check_row(const void* row, int lane, int matrix) {
  Block& block = *Block::running();
  const std::string doing = fmt::format(
      "ldmatrix reads row {} of matrix {} at the address of lane "
      "{}",
      lane % 8, matrix, lane);
  if (!block.shared().contains(row))
    block.report(FaultKind::kOutOfBounds, doing + ", which is not in shared memory");
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0)
    block.report(FaultKind::kUnaligned, doing + ", which is no multiple of 16");
  const int reader = block.thread().warp() * 32 + lane;
  block.report_if(block.shared().touch(row, 16, Touch::kRead, block.accessor(reader)), doing);
}

// [PTX ISA, "ldmatrix": lane 8 i + r brings the address of row r of matrix i; lane L receives
// elements 2 (L % 4) and 2 (L % 4) + 1 of row L / 4, or of that column if transposed]
void compute_load_matrices(Operands operands, uint32_t /*lanes*/) {
  const int matrices = operand<MatrixOperand>(operands, 0).matrices;
  for (int matrix = 0; matrix < matrices; ++matrix) {
    const uint16_t* rows[8];
    for (int row = 0; row < 8; ++row) {
      const int lane = 8 * matrix + row;
      const void* address = operand<MatrixOperand>(operands, lane).row;
      check_row(address, lane, matrix);
      rows[row] = static_cast<const uint16_t*>(address);
    }
    for_lanes(kAllLanes, [&](int lane) {
      auto& own = operand<MatrixOperand>(operands, lane);
      const int g = lane / 4, t = lane % 4;
      const uint32_t low = own.is_transposed ? rows[2 * t][g] : rows[g][2 * t];
      const uint32_t high = own.is_transposed ? rows[2 * t + 1][g] : rows[g][2 * t + 1];
      own.registers[matrix] = low | high << 16;
    });
  }
}

// ---- mma.sync ----

struct ProductOperand {
  float* c;
  const uint32_t *a, *b;
};

template <typename T>
double half_of(uint32_t pair, int index) {
  T value;
  value.bits = static_cast<unsigned short>(pair >> (16 * index));
  return static_cast<double>(static_cast<float>(value));
}

float rounded_toward_zero(double value) {
  const auto rounded = static_cast<float>(value);
  return std::isfinite(rounded) && std::abs(static_cast<double>(rounded)) > std::abs(value)
             ? std::nextafterf(rounded, 0.0f)
             : rounded;
}

// [PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"; i counts elements:
//   a_i  row g, or g + 8 for i in {2, 3, 6, 7};  column 2 t + i % 2, + 8 for i >= 4
//   b_i  row 2 t + i % 2, + 8 for i >= 2;        column g
//   c_i  row g, or g + 8 for i >= 2;             column 2 t + i % 2]
// Products are exact and their sum is cut off, as tensor cores were found to do [Fasi et al. 2021,
// "Numerical behavior of NVIDIA tensor cores"].
template <typename T>
void compute_product(Operands operands, uint32_t /*lanes*/) {
  double a[16][16], b[16][8];
  for_lanes(kAllLanes, [&](int lane) {
    const auto& own = operand<ProductOperand>(operands, lane);
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 8; ++i) {
      const int row = g + (i / 2 % 2) * 8, column = 2 * t + i % 2 + (i / 4) * 8;
      a[row][column] = half_of<T>(own.a[i / 2], i % 2);
    }
    for (int i = 0; i < 4; ++i) b[2 * t + i % 2 + (i / 2) * 8][g] = half_of<T>(own.b[i / 2], i % 2);
  });
  for_lanes(kAllLanes, [&](int lane) {
    const auto& own = operand<ProductOperand>(operands, lane);
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      double sum = static_cast<double>(own.c[i]);
      for (int k = 0; k < 16; ++k) sum += a[g + (i / 2) * 8][k] * b[k][2 * t + i % 2];
      own.c[i] = rounded_toward_zero(sum);
    }
  });
}

// ---- wgmma ----

using Products = std::vector<StartedProduct>;

// The warp that reads by wgmma: when all its lanes had started the wgmma and what they knew then,
// and when it has read.
struct WgmmaReader {
  Accessor started;
  Toucher done;
};

// The address of element (k, n) of B. [PTX ISA, "Matrix Descriptor Format", "Strides"; with
// 128-byte swizzling, bits 4 to 6 of the address are xored with bits 7 to 9]
uint32_t address_of_b(uint64_t descriptor, bool is_transposed, uint32_t k, uint32_t n) {
  const auto field = [&](int bit) {
    return static_cast<uint32_t>(descriptor >> bit & 0x3fffu) << 4;
  };
  const uint32_t start = field(0), leading = field(16), stride = field(32);
  const uint32_t linear = is_transposed
                              ? start + n / 64 * leading + n % 64 * 2 + k / 8 * stride + k % 8 * 128
                              : start + n / 8 * stride + n % 8 * 128 + k * 2;
  return linear ^ (linear >> 7 & 7u) << 4;
}

// The warp's 16 rows of A from its fragments.
template <typename T>
void gather_a(Operands operands, size_t index, double (&a)[16][16]) {
  for_lanes(kAllLanes, [&](int lane) {
    const auto& own = operand<Products>(operands, lane)[index].product.a;
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 8; ++i)
      a[g + (i / 2 % 2) * 8][2 * t + i % 2 + (i / 4) * 8] =
          half_of<T>(own[static_cast<size_t>(i / 2)], i % 2);
  });
}

// One element of a matrix that a descriptor describes.
template <typename T>
double described(const WgmmaReader& reader, uint64_t descriptor, bool is_transposed, int k, int n,
                 const char* doing) {
  Block& block = *Block::running();
  const uint32_t at =
      address_of_b(descriptor, is_transposed, static_cast<uint32_t>(k), static_cast<uint32_t>(n));
  if (const MaybeFinding finding =
          block.shared().read_by_async_proxy(at, 2, reader.started, reader.done))
    block.report_if(finding, doing);
  T value;
  std::memcpy(&value.bits, block.shared().at(at), 2);
  return static_cast<double>(static_cast<float>(value));
}

// What all lanes knew when they started a product; empty in a block without mbarriers.
Clock known_to_warp(Operands operands, size_t index) {
  const Block& block = *Block::running();
  if (!block.clocks().are_kept()) return {};
  std::vector<std::shared_ptr<const Clock>> lanes;
  for_lanes(kAllLanes, [&](int lane) {
    const auto& known = operand<Products>(operands, lane)[index].known;
    const int thread = 32 * block.thread().warp() + lane;
    // The first mbarrier may have come after the lane had started it.
    lanes.push_back(known != nullptr ? known : block.clocks().known(static_cast<size_t>(thread)));
  });
  return Clocks::known_to_all(lanes);
}

template <typename T>
void multiply_one(Operands operands, size_t index) {
  Block& block = *Block::running();
  const StartedProduct& started = operand<Products>(operands, 0)[index];
  const WarpgroupProduct& product = started.product;
  if (product.b >> 62 != 1 || (product.shared_a != 0 && product.shared_a >> 62 != 1))
    block.report(FaultKind::kWarp, "wgmma with a descriptor of another swizzle than 128 bytes");
  const Clock known = known_to_warp(operands, index);
  const WgmmaReader reader{{started.at, known.empty() ? nullptr : &known}, block.wgmma_reader()};
  double a[16][16];
  if (product.shared_a == 0) {
    gather_a<T>(operands, index, a);
  } else {
    const int first = block.thread().warp() % 4 * 16;
    for (int row = 0; row < 16; ++row)
      for (int k = 0; k < 16; ++k)
        a[row][k] = described<T>(reader, product.shared_a, false, k, first + row, "wgmma reads A");
  }
  const int columns = 8 * product.tiles;
  std::vector<double> b(static_cast<size_t>(16 * columns));
  for (int k = 0; k < 16; ++k)
    for (int n = 0; n < columns; ++n)
      b[static_cast<size_t>(k * columns + n)] =
          described<T>(reader, product.b, product.is_transposed, k, n, "wgmma reads B");
  for_lanes(kAllLanes, [&](int lane) {
    const WarpgroupProduct& own = operand<Products>(operands, lane)[index].product;
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4 * own.tiles; ++i) {
      const int row = g + (i / 2 % 2) * 8, column = i / 4 * 8 + 2 * t + i % 2;
      double sum = own.accumulates ? static_cast<double>(own.c[i]) : 0.0;
      for (int k = 0; k < 16; ++k) sum += a[row][k] * b[static_cast<size_t>(k * columns + column)];
      own.c[i] = rounded_toward_zero(sum);
    }
  });
}

// Computes a group of the warp's products in order, as late as a device may compute them.
void compute_warpgroup(Operands operands, uint32_t /*lanes*/) {
  const Products& first = operand<Products>(operands, 0);
  for_lanes(kAllLanes, [&](int lane) {
    const Products& own = operand<Products>(operands, lane);
    bool is_same = own.size() == first.size();
    for (size_t i = 0; is_same && i < own.size(); ++i) {
      const WarpgroupProduct &a = own[i].product, &b = first[i].product;
      is_same = a.b == b.b && a.shared_a == b.shared_a && a.tiles == b.tiles &&
                a.is_transposed == b.is_transposed && a.is_bf16 == b.is_bf16 &&
                a.accumulates == b.accumulates;
    }
    if (!is_same)
      Block::running()->report(FaultKind::kWarp,
                               fmt::format("lane {} has started other wgmma than lane 0", lane));
  });
  for (size_t i = 0; i < first.size(); ++i) {
    if (first[i].product.is_bf16) {
      multiply_one<__nv_bfloat16>(operands, i);
    } else {
      multiply_one<__half>(operands, i);
    }
  }
  Block::running()->finish_wgmma();
}

// True if the registers of A still hold what they held when the product was started.
bool has_registers(const WarpgroupProduct& product) {
  return product.registers_of_a == nullptr ||
         std::equal(product.a.begin(), product.a.end(), product.registers_of_a);
}

}  // namespace

int shuffle_source(Shuffle shuffle, int lane, int operand, int width) {
  const int first = lane / width * width, last = first + width - 1;
  switch (shuffle) {
    case Shuffle::kIndex:
      return first + (operand & (width - 1));
    case Shuffle::kUp:
      return lane - operand < first ? lane : lane - operand;
    case Shuffle::kDown:
      return lane + operand > last ? lane : lane + operand;
    case Shuffle::kXor:
      return (lane ^ operand) > last ? lane : lane ^ operand;
  }
  return lane;
}

uint64_t shuffle(Shuffle kind, unsigned mask, uint64_t value, int operand, int width,
                 const std::source_location& where) {
  static constexpr const char* kNames[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync",
                                           "__shfl_xor_sync"};
  const InEmulator in_emulator;
  Block& block = *Block::running();
  if (width < 1 || width > 32 || (width & (width - 1)) != 0)
    block.report(FaultKind::kWarp, fmt::format("a shuffle of width {}: it must be 1, 2, 4, 8, 16 "
                                               "or 32 {}",
                                               width, Place{where}.text()));
  const int source = shuffle_source(kind, block.thread().lane(), operand, width);
  ShuffleOperand own{value, 0, source};
  block.meet({.name = kNames[static_cast<int>(kind)],
              .place = {where},
              .mask = mask,
              .compute = compute_shuffle},
             &own);
  return own.result;
}

void load_matrices(uint32_t* registers, int matrices, const void* shared_row, bool is_transposed) {
  const InEmulator in_emulator;
  MatrixOperand own{registers, matrices, shared_row, is_transposed};
  Block::running()->meet({.name = "ldmatrix",
                          .is_aligned = true,
                          .place = {.code = __builtin_return_address(0)},
                          .mask = kAllLanes,
                          .compute = compute_load_matrices},
                         &own);
}

void multiply_add_m16n8k16(float* c, const uint32_t* a, const uint32_t* b, bool is_bf16) {
  const InEmulator in_emulator;
  ProductOperand own{c, a, b};
  Block::running()->meet(
      {.name = is_bf16 ? "mma.m16n8k16.bf16" : "mma.m16n8k16.f16",
       .is_aligned = true,
       .place = {.code = __builtin_return_address(0)},
       .mask = kAllLanes,
       .compute = is_bf16 ? compute_product<__nv_bfloat16> : compute_product<__half>},
      &own);
}

uint32_t shared_address(const void* shared) {
  const InEmulator in_emulator;
  Block& block = *Block::running();
  if (!block.shared().contains(shared))
    block.report(FaultKind::kOutOfBounds, "a matrix for wgmma that is not in shared memory");
  return block.shared().address_of(shared);
}

void fence_async_proxy() {
  const InEmulator in_emulator;
  Block& block = *Block::running();
  block.shared().fence_async_proxy(block.accessor(block.thread().number).at);
}

void warpgroup_begin() {
  const InEmulator in_emulator;
  Thread& thread = Block::running()->thread();
  if (blockDim.x % 128 != 0)
    Block::running()->report(FaultKind::kWarp, "wgmma in a block of no whole warpgroups");
  thread.in_warpgroup = true;
}

void warpgroup_multiply(const WarpgroupProduct& product) {
  const InEmulator in_emulator;
  Block& block = *Block::running();
  Thread& thread = block.thread();
  if (!thread.in_warpgroup) block.report(FaultKind::kWarp, "wgmma without wgmma.fence before it");
  const int first_lane = thread.warp() * 32;
  StartedProduct started{.product = product, .at = block.accessor(first_lane).at};
  if (block.clocks().are_kept())
    started.known = block.clocks().known(static_cast<size_t>(thread.number));
  thread.open_products.push_back(std::move(started));
}

void warpgroup_commit() {
  const InEmulator in_emulator;
  Thread& thread = Block::running()->thread();
  thread.product_groups.push_back(std::move(thread.open_products));
  thread.open_products.clear();
}

void warpgroup_wait(int most_pending) {
  const InEmulator in_emulator;
  Thread& thread = Block::running()->thread();
  while (std::ssize(thread.product_groups) > most_pending) {
    for (const StartedProduct& started : thread.product_groups.front())
      if (!has_registers(started.product))
        Block::running()->report(FaultKind::kWarp,
                                 "has changed the registers of A since it started a wgmma, which "
                                 "may read them until it is waited for");
    Block::running()->meet({.name = "wgmma.wait_group",
                            .is_aligned = true,
                            .place = {.code = __builtin_return_address(0)},
                            .mask = kAllLanes,
                            .compute = compute_warpgroup},
                           &thread.product_groups.front());
    thread.product_groups.pop_front();
  }
  if (thread.product_groups.empty() && thread.open_products.empty()) thread.in_warpgroup = false;
}

}  // namespace cuda_on_cpu

using cuda_on_cpu::Block;
using cuda_on_cpu::InEmulator;

void __syncthreads(std::source_location where) {
  const InEmulator in_emulator;
  Block::running()->barrier(where);
}

void __syncwarp(unsigned mask, std::source_location where) {
  const InEmulator in_emulator;
  Block::running()->meet({.name = "__syncwarp",
                          .place = {where},
                          .mask = mask,
                          .compute =
                              [](std::span<void* const, 32>, uint32_t lanes) {
                                Block& block = *Block::running();
                                if (lanes == block.lanes_left(block.thread().warp()))
                                  block.order_warp();
                              }},
                         nullptr);
}

unsigned __ballot_sync(unsigned mask, int predicate, std::source_location where) {
  return cuda_on_cpu::vote("__ballot_sync", mask, predicate != 0, where);
}

int __any_sync(unsigned mask, int predicate, std::source_location where) {
  return cuda_on_cpu::vote("__any_sync", mask, predicate != 0, where) != 0;
}

int __all_sync(unsigned mask, int predicate, std::source_location where) {
  return cuda_on_cpu::vote("__all_sync", mask, predicate == 0, where) == 0;
}
