// Multiplies inputs with codes on tensor cores, and expands codes to plain weights.
#include "core/kernels/linear/cuda/coded_product.cuh"

#include <algorithm>
#include <type_traits>

#include "core/base/error.h"
#include "core/kernels/linear/quantize.h"
#include "core/kernels/shared/cuda/elements.cuh"
#include "core/kernels/shared/cuda/launch.cuh"
#include "core/kernels/shared/cuda/ptx.cuh"

namespace reprise::kernels::cuda {
namespace {

constexpr int kWarps = 8, kThreads = kWarps * kWarp;
constexpr int kOutputs = 16;  // outputs in one product of the tensor cores: rows of A
constexpr int kRows = 8;      // rows of x in one product: columns of B
constexpr int kUnits = kBlockInputs / kUnitInputs;
constexpr int kHalves = 2;  // of a unit: 16 inputs, the depth of a product

template <WeightFormat kFormat>
constexpr bool is_nf4 = kFormat == WeightFormat::kNf4 || kFormat == WeightFormat::kNf4Double;

// Arguments of the kernels besides the call.
struct Constants {
  float nf4[16] = {};
  // The group of unit u is u * group_of_unit >> 16. This is exact for groups of 1 to 4 units if u <
  // 32768. It is 0 for every unit if an output has one group.
  uint32_t group_of_unit = 0;
};

__device__ __forceinline__ int group_of(int unit, const Constants& constants) {
  return static_cast<int>(static_cast<uint32_t>(unit) * constants.group_of_unit >> 16);
}

// Reads the scales of one output, and in int4 its minimums.
template <WeightFormat kFormat>
class OutputScales {
 public:
  OutputScales() = default;
  __device__ __forceinline__ OutputScales(const DeviceCodes& w, int64_t row) {
    const int64_t groups = w.groups();
    if constexpr (kFormat == WeightFormat::kNf4Double) {
      codes_ = w.scale_codes + row * groups;
      steps_ = w.scale_steps +
               row / kScaleBlockOutputs * ((groups + kScaleBlockGroups - 1) / kScaleBlockGroups);
      mean_ = w.scale_mean;
    } else {
      scales_ = w.scales + row * groups * (kFormat == WeightFormat::kInt4 ? 2 : 1);
    }
  }
  __device__ __forceinline__ float2 scale_and_minimum(int group) const {
    if constexpr (kFormat == WeightFormat::kNf4Double) {
      return {fmaf(static_cast<float>(codes_[group]),
                   steps_[group / static_cast<int>(kScaleBlockGroups)], mean_),
              0.0f};
    } else if constexpr (kFormat == WeightFormat::kInt4) {
      return reinterpret_cast<const float2*>(scales_)[group];
    } else {
      return {scales_[group], 0.0f};
    }
  }

 private:
  const float *scales_ = nullptr, *steps_ = nullptr;
  const int8_t* codes_ = nullptr;
  float mean_ = 0.0f;
};

// ---- Decoding ----

// Bits of 2^23 as f32. The lowest bit of its mantissa is worth 1, so a small integer n in the
// mantissa gives 2^23 + n.
constexpr uint32_t kOnes = 0x4b000000u;

// Returns code i of a word of four int8 codes, as f32.
__device__ __forceinline__ float byte_code(uint32_t word, int i) {
  const uint32_t biased = ((word >> (8 * i)) & 0xffu) ^ 0x80u;  // code + 128
  return __uint_as_float(kOnes | biased) - (8388608.0f + 128.0f);
}

// Returns code i of a quad of four-bit codes; `shift` is QuadPlace::shift.
__device__ __forceinline__ uint32_t nibble(uint32_t word, int shift, int i) {
  return word >> (shift + 16 * (i % 2) + 4 * (i / 2)) & 15u;
}

// Returns the unscaled weights of inputs 2 i and 2 i + 1 of a quad in one register. `table` has
// NF4's 16 quantiles as T, each in the lower half of a word.
template <typename T, WeightFormat kFormat>
__device__ __forceinline__ uint32_t code_pair(uint32_t word, int shift, int i,
                                              const uint32_t* table) {
  if constexpr (kFormat == WeightFormat::kInt8) {
    return pack_pair<T>(byte_code(word, 2 * i), byte_code(word, 2 * i + 1));
  } else if constexpr (kFormat == WeightFormat::kInt4) {
    // Puts the code into the lowest bits of the mantissa of 128 (bf16) or 1024 (f16), and then
    // subtracts 128 or 1024.
    constexpr bool kIsBf16 = std::is_same_v<T, __nv_bfloat16>;
    constexpr uint32_t kBase = kIsBf16 ? 0x43004300u : 0x64006400u;
    constexpr uint32_t kOne = kIsBf16 ? 0x3f803f80u : 0x3c003c00u;
    return multiply_add_pairs<T>((word >> (shift + 4 * i) & 0x000f000fu) | kBase, kOne,
                                 kBase | 0x80008000u);
  } else {
    return table[nibble(word, shift, 2 * i)] | table[nibble(word, shift, 2 * i + 1)] << 16;
  }
}

// ---- Products ----

// The words of one output's codes that a lane has, for one block of inputs.
template <WeightFormat kFormat>
struct LaneWords {
  static constexpr int kCount = static_cast<int>(words_of_block(kFormat)) / 4;
  uint32_t of[kCount];

  __device__ __forceinline__ void load(const uint32_t* from) {
    REPRISE_UNROLL
    for (int i = 0; i < kCount; i += 4) {
      const uint4 loaded = load_once(from + i);
      of[i] = loaded.x;
      of[i + 1] = loaded.y;
      of[i + 2] = loaded.z;
      of[i + 3] = loaded.w;
    }
  }
  // Returns pair i of the lane's quad in half `half` of unit `unit`.
  template <typename T>
  __device__ __forceinline__ uint32_t pair(int unit, int half, int i, const uint32_t* table) const {
    if constexpr (kFormat == WeightFormat::kInt8) {
      return code_pair<T, kFormat>(of[2 * unit + half], 0, i, table);
    } else {
      return code_pair<T, kFormat>(of[unit], 8 * half, i, table);
    }
  }
};

// How a kernel is compiled. A warp has kOuts times 16 outputs and kTiles times 8 rows of x. Groups
// begin at multiples of kGroupUnits units.
template <typename T_, WeightFormat kFormat_, int kTiles_, int kOuts_, int kGroupUnits_>
struct ProductShape {
  using T = T_;
  static constexpr WeightFormat kFormat = kFormat_;
  static constexpr int kTiles = kTiles_, kOuts = kOuts_, kGroupUnits = kGroupUnits_;
  static constexpr bool kHasGroups = kFormat != WeightFormat::kInt8;
  static constexpr int kGroupsOfBlock = kUnits / kGroupUnits;
  // The number of blocks of an SM for which the compiler limits the registers. With fewer
  // registers, fewer loads are in flight. An H100 was fastest with these numbers.
  static constexpr int least_blocks() {
    if (kHasGroups && kGroupUnits == 1) return 1;
    if (kTiles == 1) return 3;
    return kHasGroups && kOuts == 2 ? 1 : 2;
  }
  static constexpr int kBlockOutputs = kOuts * kOutputs, kBlockRows = kTiles * kRows;
  static_assert(kUnits % kGroupUnits == 0);
};

// The products of one warp, summed over some blocks of inputs. A lane has outputs g and g + 8 of
// each 16 outputs, and quad t of each 16 inputs. In place of outputs and rows beyond the last one,
// the last one is computed again, and the result is not written. Codes and scales are loaded a
// block ahead.
template <class Shape>
class WarpProduct {
 public:
  // `table` is that of code_pair().
  __device__ __forceinline__ WarpProduct(const CodedProduct& call, const Constants& constants,
                                         const uint32_t* table)
      : cols_(static_cast<int>(call.w.cols)), constants_(constants), table_(table) {
    const int64_t first = call.first + static_cast<int64_t>(blockIdx.x) * Shape::kBlockOutputs + g_;
    REPRISE_UNROLL
    for (int i = 0; i < kLaneOutputs; ++i) {
      const int64_t output = min(first + 8 * i, call.end - 1);
      codes_[i] = call.w.codes + output * call.w.blocks() * words_of_block(kFormat) +
                  t_ * LaneWords<kFormat>::kCount;
      if constexpr (Shape::kHasGroups) scales_[i] = OutputScales<kFormat>(call.w, output);
    }
    REPRISE_UNROLL
    for (int j = 0; j < kTiles; ++j) {
      const int64_t row = (static_cast<int64_t>(blockIdx.y) * kTiles + j) * kRows + g_;
      x_[j] = static_cast<const T*>(call.x) + min(row, call.m - 1) * call.w.cols + t_ * kQuadInputs;
    }
  }

  __device__ __forceinline__ void run() {
    const int blocks = (cols_ + kInputs - 1) / kInputs,
              first = static_cast<int>(threadIdx.x) / kWarp;
    if (first < blocks) load(first);
    for (int block = first; block < blocks; block += kWarps) {
      now_ = next_;
      if (block + kWarps < blocks) load(block + kWarps);
      if ((block + 1) * kInputs <= cols_)
        add_block</*kIsWhole=*/true>(block);
      else
        add_block</*kIsWhole=*/false>(block);
    }
  }

  // Writes the sums as [kBlockRows][kBlockOutputs].
  __device__ __forceinline__ void store(float* to) const {
    REPRISE_UNROLL
    for (int out = 0; out < kOuts; ++out) {
      REPRISE_UNROLL
      for (int j = 0; j < kTiles; ++j) {
        REPRISE_UNROLL
        for (int k = 0; k < 4; ++k)
          to[(j * kRows + 2 * t_ + k % 2) * Shape::kBlockOutputs + out * kOutputs + g_ +
             8 * (k / 2)] = sums_[out][j][k];
      }
    }
  }

 private:
  using T = typename Shape::T;
  static constexpr WeightFormat kFormat = Shape::kFormat;
  static constexpr int kTiles = Shape::kTiles, kOuts = Shape::kOuts;
  static constexpr int kInputs = kBlockInputs, kUnit = kUnitInputs;
  static constexpr int kLaneOutputs = 2 * kOuts;
  using Sums = float[kOuts][kTiles][4];

  // What a lane loads of one block of inputs.
  struct Loaded {
    LaneWords<kFormat> words[kLaneOutputs];
    float2 scales[kLaneOutputs][Shape::kHasGroups ? Shape::kGroupsOfBlock : 1];
  };

  __device__ __forceinline__ void load(int block) {
    REPRISE_UNROLL
    for (int i = 0; i < kLaneOutputs; ++i) {
      next_.words[i].load(codes_[i] + block * static_cast<int>(words_of_block(kFormat)));
      if constexpr (Shape::kHasGroups) {
        REPRISE_UNROLL
        for (int group = 0; group < Shape::kGroupsOfBlock; ++group) {
          const int unit = block * kUnits + group * Shape::kGroupUnits;
          if (unit * kUnit < cols_)
            next_.scales[i][group] = scales_[i].scale_and_minimum(group_of(unit, constants_));
        }
      }
    }
  }

  // Adds the products with a block. A whole block has no inputs beyond the matrix'. Unless
  // kIsWhole, x is taken as zero for such inputs.
  template <bool kIsWhole>
  __device__ __forceinline__ void add_block(int block) {
    REPRISE_UNROLL
    for (int group = 0; group < Shape::kGroupsOfBlock; ++group) {
      Sums of_codes = {};
      float of_ones[kTiles][4] = {};
      REPRISE_UNROLL
      for (int in_group = 0; in_group < Shape::kGroupUnits; ++in_group) {
        const int u = group * Shape::kGroupUnits + in_group;
        if (kIsWhole || block * kInputs + u * kUnit < cols_)
          add_unit<kIsWhole>(block, u, Shape::kHasGroups ? of_codes : sums_, of_ones);
      }
      if constexpr (Shape::kHasGroups)
        if (kIsWhole || block * kInputs + group * Shape::kGroupUnits * kUnit < cols_)
          add_scaled(of_codes, of_ones, group);
    }
  }

  template <bool kIsWhole>
  __device__ __forceinline__ void add_unit(int block, int u, Sums& of_codes,
                                           float (&of_ones)[kTiles][4]) {
    REPRISE_UNROLL
    for (int half = 0; half < kHalves; ++half) {
      const int input = block * kInputs + u * kUnit + half * (kUnit / 2);  // lane 0's first input
      uint32_t b[kTiles][2];
      REPRISE_UNROLL
      for (int j = 0; j < kTiles; ++j) {
        uint2 x = {0, 0};
        if (kIsWhole || input + static_cast<int>(t_ * kQuadInputs) < cols_)
          x = *reinterpret_cast<const uint2*>(x_[j] + input);
        b[j][0] = x.x;
        b[j][1] = x.y;
        if constexpr (kFormat == WeightFormat::kInt4) {
          const uint32_t one = pack_pair<T>(1.0f, 1.0f), ones[4] = {one, one, one, one};
          multiply_add<T>(of_ones[j], ones, b[j]);
        }
      }
      REPRISE_UNROLL
      for (int out = 0; out < kOuts; ++out) {
        uint32_t a[4];
        REPRISE_UNROLL
        for (int i = 0; i < 4; ++i)
          a[i] = now_.words[2 * out + i % 2].template pair<T>(u, half, i / 2, table_);
        REPRISE_UNROLL
        for (int j = 0; j < kTiles; ++j) multiply_add<T>(of_codes[out][j], a, b[j]);
      }
    }
  }

  // Adds s * (codes x) + a * (ones x) to the sums, with the scales s and minimums a of a group.
  __device__ __forceinline__ void add_scaled(const Sums& of_codes,
                                             const float (&of_ones)[kTiles][4], int group) {
    REPRISE_UNROLL
    for (int i = 0; i < kLaneOutputs; ++i) {
      const float2 of_group = now_.scales[i][group];
      REPRISE_UNROLL
      for (int j = 0; j < kTiles; ++j) {
        REPRISE_UNROLL
        for (int k = i % 2 * 2; k < i % 2 * 2 + 2; ++k) {
          float& sum = sums_[i / 2][j][k];
          sum = fmaf(of_group.x, of_codes[i / 2][j][k], sum);
          if constexpr (kFormat == WeightFormat::kInt4) sum = fmaf(of_group.y, of_ones[j][k], sum);
        }
      }
    }
  }

  int cols_;
  const Constants& constants_;
  const uint32_t* table_;
  const unsigned g_ = threadIdx.x % kWarp / 4, t_ = threadIdx.x % 4;
  const uint32_t* codes_[kLaneOutputs];  // the lane's words of block 0
  OutputScales<kFormat> scales_[kLaneOutputs];
  const T* x_[kTiles];  // at the lane's first quad
  Loaded now_, next_;
  Sums sums_ = {};
};

template <typename T>
__device__ __forceinline__ void write_output(const CodedProduct& call, int64_t row, int64_t output,
                                             float sum) {
  const int64_t at = row * (call.end - call.first) + output;
  if (call.bias != nullptr) sum += call.bias[output];
  if (call.out_dtype != DType::kF32) {
    static_cast<T*>(call.out)[at] = rounded_to<T>(sum);
    return;
  }
  float* out = static_cast<float*>(call.out) + at;
  *out = call.accumulate ? *out + sum : sum;
}

// Grid: x for kBlockOutputs outputs each, y for kBlockRows rows of x each. Block: 8 warps; warp w
// multiplies blocks of inputs w, w + 8, ... of all these outputs, and the thread block adds up the
// warps' sums. Each thread block reads the codes of its outputs once, and x of its rows once; with
// many rows, most of the bytes are those of x, from L2. LaunchShape::begins_early is false: with
// true, a decode step of Llama-2-7B in int4 took 1.07 to 1.17 times as long on an H100.
template <class Shape>
__global__ void __launch_bounds__(kThreads, Shape::least_blocks())
    multiply(const CodedProduct call, const __grid_constant__ Constants constants) {
  using T = typename Shape::T;
  constexpr int kSums = Shape::kBlockRows * Shape::kBlockOutputs;
  using Sums = float[kWarps][kSums];
  REPRISE_SHARED(Sums, sums);
  REPRISE_SHARED(uint32_t[16], table);
  if constexpr (is_nf4<Shape::kFormat>) {
    if (threadIdx.x < 16) table[threadIdx.x] = pack_pair<T>(constants.nf4[threadIdx.x], 0.0f);
    __syncthreads();
  }
  WarpProduct<Shape> product(call, constants, table);
  product.run();
  product.store(sums[threadIdx.x / kWarp]);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kSums; i += kThreads) {
    const int64_t output =
        static_cast<int64_t>(blockIdx.x) * Shape::kBlockOutputs + i % Shape::kBlockOutputs;
    const int64_t row =
        static_cast<int64_t>(blockIdx.y) * Shape::kBlockRows + i / Shape::kBlockOutputs;
    if (call.first + output >= call.end || row >= call.m) continue;
    float sum = 0.0f;
    for (int warp = 0; warp < kWarps; ++warp) sum += sums[warp][i];
    if constexpr (!Shape::kHasGroups) sum *= call.w.scales[call.first + output];
    write_output<T>(call, row, output, sum);
  }
}

// ---- Expansion ----

// Grid: x has a thread for each quad of an output, 256 a block; y divides the outputs, and block y
// takes outputs y, y + gridDim.y, ... Memory bandwidth is the limit.
template <typename T, WeightFormat kFormat>
__global__ void __launch_bounds__(kThreads)
    expand(const Expansion call, const __grid_constant__ Constants constants) {
  REPRISE_SHARED(float[16], table);
  if constexpr (is_nf4<kFormat>) {
    if (threadIdx.x < 16) table[threadIdx.x] = constants.nf4[threadIdx.x];
    __syncthreads();
  }
  const DeviceCodes& w = call.w;
  const int64_t quad = item_index(), input = quad * kQuadInputs;
  if (input >= w.cols) return;
  const QuadPlace place = place_of_quad(kFormat, quad);
  const int group = kFormat == WeightFormat::kInt8
                        ? 0
                        : group_of(static_cast<int>(input / kUnitInputs), constants);
  for (int64_t i = blockIdx.y; i < call.end - call.first; i += gridDim.y) {
    const int64_t row = call.first + i;
    const uint32_t word = w.codes[row * w.blocks() * words_of_block(kFormat) + place.word];
    const float2 of_group = OutputScales<kFormat>(w, row).scale_and_minimum(group);
    Elements<T, kQuadInputs> values;
    REPRISE_UNROLL
    for (int k = 0; k < kQuadInputs; ++k) {
      if constexpr (kFormat == WeightFormat::kInt8) {
        values.of[k] = rounded_to<T>(of_group.x * byte_code(word, k));
      } else {
        const uint32_t code = nibble(word, place.shift, k);
        values.of[k] = rounded_to<T>(kFormat == WeightFormat::kInt4
                                         ? fmaf(of_group.x, static_cast<float>(code), of_group.y)
                                         : of_group.x * table[code]);
      }
    }
    T* out = static_cast<T*>(call.out) + i * w.cols + input;
    if (w.cols % kQuadInputs == 0) {
      store_elements<kQuadInputs>(out, values);
    } else {
      REPRISE_UNROLL
      for (int k = 0; k < kQuadInputs; ++k)
        if (input + k < w.cols) out[k] = values.of[k];
    }
  }
}

// ---- Launches ----

Constants constants_of(const DeviceCodes& w) {
  Constants constants;
  std::copy(kNf4Quantiles.begin(), kNf4Quantiles.end(), constants.nf4);
  if (w.groups() == 1) return constants;
  REPRISE_CHECK(w.cols < 32768 * kUnitInputs, "{} inputs", w.cols);
  const int64_t units = w.group_inputs / kUnitInputs;
  constants.group_of_unit = static_cast<uint32_t>((65536 + units - 1) / units);
  return constants;
}

// Calls fn(std::integral_constant<WeightFormat, format>{}).
template <typename Fn>
void visit_format(WeightFormat format, Fn&& fn) {
  switch (format) {
    case WeightFormat::kInt8:
      return fn(std::integral_constant<WeightFormat, WeightFormat::kInt8>{});
    case WeightFormat::kInt4:
      return fn(std::integral_constant<WeightFormat, WeightFormat::kInt4>{});
    case WeightFormat::kNf4:
      return fn(std::integral_constant<WeightFormat, WeightFormat::kNf4>{});
    default:
      return fn(std::integral_constant<WeightFormat, WeightFormat::kNf4Double>{});
  }
}

template <class Shape>
void launch_multiply(const CodedProduct& call, cudaStream_t stream) {
  launch({.name = "multiply_codes",
          .grid = dim3(blocks_for(call.end - call.first, Shape::kBlockOutputs),
                       blocks_for(call.m, Shape::kBlockRows)),
          .block = dim3(kThreads)},
         stream, multiply<Shape>, call, constants_of(call.w));
}

template <typename T, WeightFormat kFormat, int kGroupUnits>
void multiply_in(const CodedProduct& call, cudaStream_t stream) {
  // With many rows, a warp with twice as many outputs halves the reads of x, but takes more
  // registers. An H100 was faster with such warps in int8 and int4, and slower in NF4. With groups
  // of single units, the registers would not suffice.
  constexpr int kMostOuts = is_nf4<kFormat> || kGroupUnits == 1 ? 1 : 2;
  if (call.m <= kRows)
    launch_multiply<ProductShape<T, kFormat, 1, 1, kGroupUnits>>(call, stream);
  else if (call.m <= 2 * kRows)
    launch_multiply<ProductShape<T, kFormat, 2, 1, kGroupUnits>>(call, stream);
  else
    launch_multiply<ProductShape<T, kFormat, 4, kMostOuts, kGroupUnits>>(call, stream);
}

template <typename T>
void multiply_as(const CodedProduct& call, cudaStream_t stream) {
  visit_format(call.w.format, [&](auto format) {
    if constexpr (format() == WeightFormat::kInt4) {
      // Groups of int4 may have any number of units. Groups of whole blocks have a kernel of their
      // own.
      const bool is_whole = call.w.groups() == 1 || call.w.group_inputs % kBlockInputs == 0;
      if (!is_whole) return multiply_in<T, format(), 1>(call, stream);
    }
    multiply_in<T, format(), is_nf4<format()> ? 2 : kUnits>(call, stream);
  });
}

}  // namespace

bool multiplies_codes(const CodedProduct& call) {
  return call.input != DType::kF32 && call.w.cols % kQuadInputs == 0 &&
         reinterpret_cast<uintptr_t>(call.x) % 8 == 0 &&
         (call.out_dtype == DType::kF32 || call.out_dtype == call.input);
}

void multiply_codes(const CodedProduct& call, cudaStream_t stream) {
  REPRISE_CHECK(multiplies_codes(call), "{} inputs of {} to {}", call.w.cols, name_of(call.input),
                name_of(call.out_dtype));
  if (call.input == DType::kBF16)
    multiply_as<__nv_bfloat16>(call, stream);
  else
    multiply_as<__half>(call, stream);
}

void expand_codes(const Expansion& call, cudaStream_t stream) {
  const int64_t quads = (call.w.cols + kQuadInputs - 1) / kQuadInputs;
  visit_device_dtype(call.dtype, [&](auto element) {
    visit_format(call.w.format, [&](auto format) {
      launch({.name = "expand_codes",
              .grid = grid_of_rows(call.end - call.first, quads, kThreads),
              .block = dim3(kThreads)},
             stream, expand<decltype(element), format()>, call, constants_of(call.w));
    });
  });
}

}  // namespace reprise::kernels::cuda
