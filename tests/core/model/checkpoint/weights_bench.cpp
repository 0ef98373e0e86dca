// Measures how many random weights are computed and how many stored weights are read per second.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/device/buffer.h"
#include "core/model/checkpoint/random_fill.h"
#include "core/model/checkpoint/safetensors.h"
#include "core/model/checkpoint/weights.h"

namespace reprise::model {
namespace {

constexpr int64_t kRows = 4096, kCols = 4096;

// One matrix of a 7B model on one thread, into memory that is already mapped.
void RandomMatrix(benchmark::State& state, DType dtype) {
  const auto source = random_weights({}, 1);
  AlignedBuffer out(static_cast<size_t>(kRows * kCols) * size_of(dtype));
  const TensorSpec tensor{
      .role = {.part = Part::kAttentionOut, .layer = 0}, .rows = kRows, .cols = kCols};
  for (auto _ : state) {
    source->read_rows(tensor, 0, kRows, dtype, out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kRows * kCols);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(out.bytes()));
}
BENCHMARK_CAPTURE(RandomMatrix, bf16, DType::kBF16);
BENCHMARK_CAPTURE(RandomMatrix, f32, DType::kF32);
BENCHMARK_CAPTURE(RandomMatrix, f16, DType::kF16);

// The generator alone, per instruction set, into the first-level cache.
void RandomWords(benchmark::State& state, Isa isa) {
  std::vector<uint32_t> words(1024);
  for (auto _ : state) {
    fill_uniform_bf16(7, 0, 0.01f, words, isa);
    benchmark::DoNotOptimize(words.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 2 * static_cast<int64_t>(words.size()));
}
// Only benchmarks that this processor can run are listed, because `reprise check` ends at one that
// cannot run.
const bool are_listed = [] {
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512})
    if (isa <= best_isa())
      benchmark::RegisterBenchmark(("RandomWords/" + std::string(name_of(isa))).c_str(),
                                   RandomWords, isa);
  return true;
}();

// A stored 4096 x 4096 bf16 matrix in the page cache, `shift` bytes off its natural alignment.
// `release` gives its pages back after each read, as loading a model does.
void StoredMatrix(benchmark::State& state, DType dtype, size_t shift, bool release) {
  namespace fs = std::filesystem;
  const fs::path path =
      fs::temp_directory_path() / ("reprise_bench_" + std::to_string(::getpid()) + ".safetensors");
  const size_t data_bytes = static_cast<size_t>(kRows * kCols) * 2;
  std::string header = R"({"w":{"dtype":"BF16","shape":[4096,4096],"data_offsets":[0,)" +
                       std::to_string(data_bytes) + "]}}";
  header.resize((header.size() + 7) / 8 * 8 + shift, ' ');
  const uint64_t header_bytes = header.size();
  {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header_bytes), 8);
    file << header << std::string(data_bytes, '\x3c');
  }
  AlignedBuffer out(static_cast<size_t>(kRows * kCols) * size_of(dtype));
  {
    const SafetensorsFile file(path);
    const SafetensorsEntry& entry = file.entries().at("w");
    for (auto _ : state) {
      file.read(entry, 0, entry.elements, dtype, out.data());
      if (release) file.release(entry);
      benchmark::ClobberMemory();
    }
  }
  fs::remove(path);
  state.SetItemsProcessed(state.iterations() * kRows * kCols);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(data_bytes));
}
BENCHMARK_CAPTURE(StoredMatrix, bf16_as_bf16, DType::kBF16, 0, false);
BENCHMARK_CAPTURE(StoredMatrix, bf16_as_bf16_released, DType::kBF16, 0, true);
BENCHMARK_CAPTURE(StoredMatrix, bf16_as_f32, DType::kF32, 0, false);
BENCHMARK_CAPTURE(StoredMatrix, bf16_as_f32_unaligned, DType::kF32, 1, false);

}  // namespace
}  // namespace reprise::model

BENCHMARK_MAIN();
