// A lower bound for the time of a step's attention on a GPU. It follows from the bytes, products
// and exponentials that the plan, or its division into tiles, requires.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/dtype.h"
#include "core/kernels/attention/attention.h"

namespace reprise::kernels::cuda {

enum class Architecture : uint8_t { kSm80, kSm90 };
std::string_view name_of(Architecture architecture);  // "sm_80", "sm_90"

// A GPU as described by its data sheet and the CUDA programming guide.
struct GpuModel {
  std::string_view name;
  Architecture architecture = Architecture::kSm80;
  int32_t sms = 0;
  double dram_gb_s = 0;            // 10^9 bytes
  double half_tflop_s = 0;         // dense bf16 and f16 products with f32 sums, by the tensor cores
  double clock_ghz = 0;            // clock for which half_tflop_s is stated
  int64_t shared_bytes = 0;        // shared memory of an SM
  int64_t shared_block_bytes = 0;  // most shared memory that one block may use
  int64_t l2_bytes = 0;
  // True if kernels may multiply by warpgroups: compute capability 9.0, and a program with code for
  // sm_90a.
  bool has_warpgroups = false;

  // Rate of 2^x: 16 results per clock and SM (programming guide, "Arithmetic Instructions").
  [[nodiscard]] double exponentials_per_us() const { return 16.0 * sms * clock_ghz * 1e3; }
  // Rate of L2: 5120 bytes per clock on A100 (white paper). No rate is published for H100, so its
  // rate is the 5313 GB/s at which an H200 read data of half the size of its L2 (`reprise probe`).
  [[nodiscard]] double l2_bytes_per_us() const {
    return architecture == Architecture::kSm80 ? 5120.0 * clock_ghz * 1e3 : 5313e3;
  }
  // Rate of shared memory: 32 banks of 4 bytes per clock and SM (programming guide, "Shared
  // Memory").
  [[nodiscard]] double shared_bytes_per_us() const { return 128.0 * sms * clock_ghz * 1e3; }
  [[nodiscard]] double dram_bytes_per_us() const { return dram_gb_s * 1e3; }
  [[nodiscard]] double flops_per_us() const { return half_tflop_s * 1e6; }
};

// The data sheets of the SXM boards.
inline constexpr GpuModel kA100 = {.name = "A100-80GB",
                                   .architecture = Architecture::kSm80,
                                   .sms = 108,
                                   .dram_gb_s = 2039,
                                   .half_tflop_s = 312,
                                   .clock_ghz = 1.41,
                                   .shared_bytes = 164 << 10,
                                   .shared_block_bytes = 163 << 10,
                                   .l2_bytes = 40 << 20};
inline constexpr GpuModel kH100 = {.name = "H100",
                                   .architecture = Architecture::kSm90,
                                   .sms = 132,
                                   .dram_gb_s = 3350,
                                   .half_tflop_s = 989.4,
                                   .clock_ghz = 1.83,
                                   .shared_bytes = 228 << 10,
                                   .shared_block_bytes = 227 << 10,
                                   .l2_bytes = 50 << 20,
                                   .has_warpgroups = true};
inline constexpr GpuModel kH200 = {.name = "H200",
                                   .architecture = Architecture::kSm90,
                                   .sms = 132,
                                   .dram_gb_s = 4800,
                                   .half_tflop_s = 989.4,
                                   .clock_ghz = 1.83,
                                   .shared_bytes = 228 << 10,
                                   .shared_block_bytes = 227 << 10,
                                   .l2_bytes = 50 << 20,
                                   .has_warpgroups = true};

// Returns the model of a device by facts that the CUDA runtime reports, with the device's own
// number `sms`. A device without a model above gets the model of the A100 (compute capability 8.x)
// or of the H100 (later ones), but with 100 KiB of shared memory for 8.1 to 8.9 and from 12.0 on.
// Throws Error for a compute capability below 8.0, which lacks cp.async and the kernels' matrix
// products.
GpuModel gpu_model(std::string_view device_name, int major, int minor, int sms);

// Data and operations of one layer's attention.
struct AttentionWork {
  double kv_bytes = 0;
  double reread_bytes = 0;  // keys and values read again from L2, for further tiles of lanes
  double query_bytes = 0;
  double output_bytes = 0;
  double partial_bytes = 0;  // partial results written, and read again by the merge
  double flops = 0;          // both products; a multiplication and an addition count as two
  double exponentials = 0;

  [[nodiscard]] double bytes() const {  // from and to memory
    return kv_bytes + query_bytes + output_bytes + partial_bytes;
  }
};

// Dtypes of queries and output. The plan has the dtypes of the caches.
struct WorkDtypes {
  DType query = DType::kBF16;
  DType output = DType::kBF16;
};

// The work that no kernel can avoid: reading every item's visible keys and values once, reading
// queries and writing the output once, and 4 head_dim FLOPs and one exponential for each visible
// (row, head, key). Includes no partial results.
AttentionWork least_work(const kv::AttentionPlan& plan, int64_t heads,
                         const AttentionParams& params, const WorkDtypes& dtypes = {});

// For each limit, the time that the work would take if there were no other limit. The lower bound
// is the longest of these times.
struct Roofline {
  double memory_us = 0, l2_us = 0, product_us = 0, exponential_us = 0;

  [[nodiscard]] double least_us() const;
  [[nodiscard]] std::string_view limit() const;  // "memory", "L2", "products", "exponentials"
};
Roofline roofline_of(const AttentionWork& work, const GpuModel& gpu);

}  // namespace reprise::kernels::cuda
