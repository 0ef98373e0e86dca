// Time of the row kernels on a CUDA device at the widths of Llama-2-7B, by the device's clock;
// bytes count what must be read and written once.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "core/kernels/activation/cuda/activation.cuh"
#include "core/kernels/attention/cuda/merge.cuh"
#include "core/kernels/embedding/cuda/embedding.cuh"
#include "core/kernels/kv_write/cuda/kv_write.cuh"
#include "core/kernels/norm/cuda/norm.cuh"
#include "core/kernels/rotary/cuda/rotary.cuh"
#include "core/kernels/sampling/cuda/draw.cuh"
#include "tests/core/kernels/device/cuda/device_bench.cuh"
#include "tests/core/kernels/shared/cuda/row_cases.h"

namespace reprise::kernels::cuda::testing {
namespace {

using DevicePointer = std::shared_ptr<reprise::cuda::CudaDevice>;
using Work = std::function<void()>;

// The buffers that a benchmark's work uses, and the work itself.
struct Prepared {
  std::vector<Buffer> buffers;
  Work work;

  template <typename T>
  T* take(const DevicePointer& device, int64_t count) {
    buffers.push_back(random_numbers(device, static_cast<size_t>(count) * sizeof(T)));
    return buffers.back().as<T>();
  }
  template <typename T>
  T* take(const DevicePointer& device, const std::vector<T>& values) {
    buffers.emplace_back(device, values.size() * sizeof(T));
    device->copy_in(buffers.back().data(), values.data(), values.size() * sizeof(T));
    return buffers.back().as<T>();
  }
};

template <typename T>
std::vector<T> counted(int64_t count, T step) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i) * step;
  return values;
}

// sin(i + pi half_turns), for cosines and sines of one angle: values that are rotated again and
// again keep their length.
std::vector<float> waves(int64_t count, double half_turns) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] =
        static_cast<float>(std::sin(static_cast<double>(i) + half_turns * 3.14159265358979));
  return values;
}

void prepare_norm(Prepared& p, const DevicePointer& device, int64_t rows) {
  const NormCall call{.weight = p.take<float>(device, kHidden),
                      .x = p.take<float>(device, rows * kHidden),
                      .out = p.take<uint16_t>(device, rows * kHidden),
                      .out_dtype = DType::kBF16,
                      .rows = rows,
                      .cols = kHidden};
  p.work = [=] { norm(call, device->stream()); };
}

void prepare_activation(Prepared& p, const DevicePointer& device, int64_t rows) {
  const ActivationCall call{.is_gated = true,
                            .x = p.take<uint16_t>(device, rows * 2 * kIntermediate),
                            .out = p.take<uint16_t>(device, rows * kIntermediate),
                            .dtype = DType::kBF16,
                            .rows = rows,
                            .cols = kIntermediate};
  p.work = [=] { activation(call, device->stream()); };
}

void prepare_rotary(Prepared& p, const DevicePointer& device, int64_t rows) {
  const RotaryCall call{.data = p.take<float>(device, rows * 3 * kHidden),
                        .rows = rows,
                        .row_stride = 3 * kHidden,
                        .heads = 2 * kRowHeads,
                        .head_dim = kRowHeadDim,
                        .half = kRowHeadDim / 2,
                        .cos = p.take(device, waves(rows * kRowHeadDim / 2, 0.5)),
                        .sin = p.take(device, waves(rows * kRowHeadDim / 2, 0.0))};
  p.work = [=] { rotary(call, device->stream()); };
}

void prepare_kv_write(Prepared& p, const DevicePointer& device, int64_t rows) {
  const float* qkv = p.take<float>(device, rows * 3 * kHidden);
  const KvWrite call{.cache = {.keys = p.take<uint16_t>(device, rows * kHidden),
                               .values = p.take<uint16_t>(device, rows * kHidden),
                               .dtype = DType::kBF16,
                               .device = Device::kCuda,
                               .layer_stride = rows * kHidden,
                               .head_stride = rows * kRowHeadDim,
                               .kv_heads = kRowHeads,
                               .head_dim = kRowHeadDim},
                     .row_slots = p.take<int64_t>(device, counted<int64_t>(rows, kRowHeadDim)),
                     .rows = rows,
                     .keys = qkv + kHidden,
                     .values = qkv + 2 * kHidden,
                     .row_stride = 3 * kHidden};
  p.work = [=] { write_kv(call, device->stream()); };
}

void prepare_merge(Prepared& p, const DevicePointer& device, int64_t rows) {
  const int64_t entries = rows * kMergedParts * kRowHeads;
  const MergeCall call{
      .rows = p.take<int32_t>(device, counted<int32_t>(rows, 1)),
      .begin = p.take<int32_t>(device, counted<int32_t>(rows + 1, kMergedParts)),
      .entries = p.take<int64_t>(device, counted<int64_t>(rows * kMergedParts, kRowHeads)),
      .merged = rows,
      .o = p.take<float>(device, entries * kRowHeadDim),
      .m = p.take<float>(device, entries),
      .n = p.take<float>(device, entries),
      .heads = kRowHeads,
      .head_dim = kRowHeadDim,
      .out = p.take<uint16_t>(device, rows * kRowHeads * kRowHeadDim),
      .out_dtype = DType::kBF16};
  p.work = [=] { merge_partials(call, device->stream()); };
}

void prepare_embedding(Prepared& p, const DevicePointer& device, int64_t rows) {
  const Embedding call{.table = p.take<uint16_t>(device, kVocab * kHidden),
                       .dtype = DType::kBF16,
                       .entries = kVocab,
                       .cols = kHidden,
                       .ids = p.take<int32_t>(device, counted<int32_t>(rows, 13)),
                       .rows = rows,
                       .out = p.take<float>(device, rows * kHidden)};
  p.work = [=] { embedding(call, device->stream()); };
}

void prepare_draw(Prepared& p, const DevicePointer& device, int64_t rows, int64_t vocab,
                  const SampleRule& rule) {
  std::vector<SampleRule> rules;
  for (int64_t row = 0; row < rows; ++row) {
    rules.push_back(rule);
    rules.back().row = row;
    rules.back().unit = static_cast<double>(row) / static_cast<double>(rows);
  }
  const DrawTokens call{.logits = p.take<float>(device, rows * vocab),
                        .vocab = static_cast<int32_t>(vocab),
                        .rules = p.take(device, rules),
                        .draws = rows,
                        .tokens = p.take<int32_t>(device, rows)};
  p.work = [=] { draw_tokens(call, device->stream()); };
}

void prepare(Prepared& prepared, const DevicePointer& device, const RowCase& row_case) {
  switch (row_case.kernel) {
    case RowKernel::kNorm:
      return prepare_norm(prepared, device, row_case.rows);
    case RowKernel::kActivation:
      return prepare_activation(prepared, device, row_case.rows);
    case RowKernel::kRotary:
      return prepare_rotary(prepared, device, row_case.rows);
    case RowKernel::kKvWrite:
      return prepare_kv_write(prepared, device, row_case.rows);
    case RowKernel::kMerge:
      return prepare_merge(prepared, device, row_case.rows);
    case RowKernel::kEmbedding:
      return prepare_embedding(prepared, device, row_case.rows);
    case RowKernel::kGreedy:
      return prepare_draw(prepared, device, row_case.rows, kVocab, {});
    case RowKernel::kDraw:
      // Logits lie evenly between 0.5 and 1 and between their negatives. At this temperature, some
      // 600 of the tokens have 0.9 of the probability.
      return prepare_draw(prepared, device, row_case.rows, kWideVocab,
                          {.temperature = 0.002, .top_p = 0.9});
  }
}

void time_rows(benchmark::State& state, const RowCase& row_case) {
  Prepared prepared;
  prepare(prepared, bench_device().device, row_case);
  time_on_device(state, row_case.bytes, 0, prepared.work);
}

}  // namespace
}  // namespace reprise::kernels::cuda::testing

int main(int argc, char** argv) {
  using namespace reprise::kernels::cuda::testing;
  for (const RowCase& row_case : row_cases())
    benchmark::RegisterBenchmark(
        (std::string(row_case.name) + "/rows:" + std::to_string(row_case.rows)).c_str(),
        [row_case](benchmark::State& state) { time_rows(state, row_case); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  return run_benchmarks(argc, argv);
}
