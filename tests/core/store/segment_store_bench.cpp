// Times a segment store: putting, acquiring from either tier, reading through a mapping, and int8
// channels.
//   segment_store_bench --benchmark_filter=Acquire
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "core/base/error.h"
#include "core/store/int8_channels.h"
#include "core/store/segment_store.h"
#include "tests/core/store/segment_testing.h"

namespace reprise::kv {
namespace {

namespace fs = std::filesystem;

// A temporary folder that the destructor removes.
class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() / ("reprise_store_bench_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// A module of TinyLlama's shape.
SegmentShape module_of(int64_t tokens) {
  return {.layers = 22, .kv_heads = 4, .tokens = tokens, .head_dim = 64, .dtype = DType::kBF16};
}

// A segment filled with one small value, because no timing depends on the states.
SegmentBuffer states_of(int64_t tokens) {
  SegmentBuffer segment(module_of(tokens));
  for (AlignedBuffer* half : {&segment.keys, &segment.values})
    for (bf16& state : half->span<bf16>()) state = bf16(0.25f);
  return segment;
}

void set_bytes(benchmark::State& state, const SegmentShape& shape) {
  state.SetBytesProcessed(state.iterations() * shape.bytes());
}

// Does nothing but read every layer, first to last, as attention does.
uint64_t sum_of(const SegmentHandle& handle) {
  const CacheView view = handle.view();
  const SegmentShape& shape = handle.shape();
  const auto words = static_cast<size_t>(shape.kv_heads * shape.tokens * shape.head_dim) *
                     size_of(shape.dtype) / sizeof(uint64_t);
  const auto stride = static_cast<size_t>(view.layer_stride) * size_of(shape.dtype);
  uint64_t sum = 0;
  for (int64_t layer = 0; layer < shape.layers; ++layer)
    for (const void* half : {view.keys, view.values}) {
      const auto* at = reinterpret_cast<const uint64_t*>(static_cast<const char*>(half) +
                                                         static_cast<size_t>(layer) * stride);
      for (size_t i = 0; i < words; ++i) sum += at[i];
    }
  return sum;
}

void Put(benchmark::State& state, const SegmentStoreOptions& wanted, bool on_disk) {
  const Folder folder;
  SegmentStoreOptions options = wanted;
  if (on_disk) options.directory = folder.path();
  SegmentStore store(options);
  const int64_t tokens = state.range(0);
  for (auto _ : state) {
    state.PauseTiming();
    SegmentBuffer segment = states_of(tokens);
    state.ResumeTiming();
    store.put("module", std::move(segment));
  }
  set_bytes(state, module_of(tokens));
}
BENCHMARK_CAPTURE(Put, host, SegmentStoreOptions{.host_bytes = int64_t{1} << 30}, false)
    ->Arg(128)
    ->Arg(2048)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Put, disk, SegmentStoreOptions{}, true)
    ->Arg(128)
    ->Arg(2048)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Put, disk_int8, SegmentStoreOptions{.form = SegmentForm::kInt8}, true)
    ->Arg(128)
    ->Arg(2048)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Args: segments in the store. Times finding one of them in memory; nothing is copied.
void AcquireFromHost(benchmark::State& state) {
  const SegmentShape shape = {
      .layers = 1, .kv_heads = 1, .tokens = 1, .head_dim = 8, .dtype = DType::kBF16};
  SegmentStore store({.host_bytes = int64_t{1} << 30});
  for (int64_t i = 0; i < state.range(0); ++i)
    store.put({{.model = "0123456789abcdef", .schema = "0123456789abcdef"}, std::to_string(i)},
              SegmentBuffer(shape));
  const SegmentKey key = {{.model = "0123456789abcdef", .schema = "0123456789abcdef"}, "7"};
  for (auto _ : state) {
    const auto handle = store.acquire(key);
    REPRISE_CHECK(handle);
    benchmark::DoNotOptimize(handle->view().keys);
  }
}
BENCHMARK(AcquireFromHost)->Arg(10)->Arg(1000);

enum class Then { kNothing, kCheckLayers, kRead };

// Maps a file that is in the page cache, reading only its header or checking it, and then does
// `then`. The mapping is dropped with the handle each time, as between requests.
void AcquireFromDisk(benchmark::State& state, const SegmentStoreOptions& wanted, Then then) {
  const Folder folder;
  SegmentStoreOptions options = wanted;
  options.directory = folder.path();
  SegmentStore store(options);
  const int64_t tokens = state.range(0);
  store.put("module", states_of(tokens));
  for (auto _ : state) {
    const auto handle = store.acquire("module");
    REPRISE_CHECK(handle);
    if (then == Then::kCheckLayers)
      for (int64_t layer = 0; layer < handle->shape().layers; ++layer) handle->check_layer(layer);
    if (then == Then::kRead) benchmark::DoNotOptimize(sum_of(*handle));
    benchmark::DoNotOptimize(handle->view().keys);
  }
  if (then != Then::kNothing || options.form == SegmentForm::kInt8)
    set_bytes(state, module_of(tokens));
}
const SegmentStoreOptions kByHeader = {.verify = Verify::kHeader};
BENCHMARK_CAPTURE(AcquireFromDisk, header, kByHeader, Then::kNothing)
    ->Arg(128)
    ->Arg(2048)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(AcquireFromDisk, layers_checked, kByHeader, Then::kCheckLayers)
    ->Arg(128)
    ->Arg(2048)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(AcquireFromDisk, read_through_mapping, kByHeader, Then::kRead)
    ->Arg(128)
    ->Arg(2048)
    ->Unit(benchmark::kMicrosecond);
const SegmentStoreOptions kPacked = {.verify = Verify::kHeader, .form = SegmentForm::kInt8};
BENCHMARK_CAPTURE(AcquireFromDisk, int8, kPacked, Then::kNothing)
    ->Arg(128)
    ->Arg(2048)
    ->Unit(benchmark::kMicrosecond);

// One head of 2048 tokens, in the second-level cache. Bytes are those of the dtype.
void Dequantize(benchmark::State& state, DType dtype) {
  constexpr int64_t kTokens = 2048, kHeadDim = 64;
  const std::vector<int8_t> quantized(kTokens * kHeadDim, 5);
  const std::vector<float> scales(kHeadDim, 0.01f);
  std::vector<char> out(kTokens * kHeadDim * size_of(dtype));
  for (auto _ : state) {
    dequantize_head(quantized.data(), scales.data(), kTokens, kHeadDim, dtype, out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(out.size()));
}
BENCHMARK_CAPTURE(Dequantize, bf16, DType::kBF16);
BENCHMARK_CAPTURE(Dequantize, f32, DType::kF32);

void Quantize(benchmark::State& state, DType dtype) {
  constexpr int64_t kTokens = 2048, kHeadDim = 64;
  const std::vector<char> states(kTokens * kHeadDim * size_of(dtype), 0x3c);
  std::vector<int8_t> quantized(kTokens * kHeadDim);
  std::vector<float> scales(kHeadDim);
  for (auto _ : state) {
    REPRISE_CHECK(
        quantize_head(states.data(), dtype, kTokens, kHeadDim, quantized.data(), scales.data()));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(states.size()));
}
BENCHMARK_CAPTURE(Quantize, bf16, DType::kBF16);
BENCHMARK_CAPTURE(Quantize, f32, DType::kF32);

}  // namespace
}  // namespace reprise::kv

BENCHMARK_MAIN();
