// Speed of encoding and decoding in MB/s for every tokenizer of REPRISE_DATA, on a prompt and on a
// corpus.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/tokenizer/tokenizer.h"

namespace reprise {
namespace {

constexpr size_t kPromptBytes = 100'000;

void encode(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  int64_t tokens = 0;
  for (auto _ : state) {
    const auto ids = tokenizer.encode(text);
    tokens = static_cast<int64_t>(ids.size());
    benchmark::DoNotOptimize(ids.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
  state.counters["tokens"] = static_cast<double>(tokens);
}

void decode(benchmark::State& state, const Tokenizer& tokenizer, const std::string& text) {
  const auto ids = tokenizer.encode(text);
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.decode(ids).data());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

// The first `bytes` bytes or fewer, so that no character is cut.
std::string prefix_of(const std::string& text, size_t bytes) {
  bytes = std::min(bytes, text.size());
  while (bytes > 0 && bytes < text.size() &&
         (static_cast<unsigned char>(text[bytes]) & 0xC0u) == 0x80u)
    --bytes;
  return text.substr(0, bytes);
}

int run(int argc, char** argv) {
  const char* data = std::getenv("REPRISE_DATA");
  if (data == nullptr) {
    std::fprintf(stderr,
                 "skipped: set REPRISE_DATA to the folder with tokenizers/ and datasets/\n");
    return 0;  // so that scripts that run all programs go on
  }
  const std::filesystem::path root(data);
  static const std::string corpus = read_file(root / "datasets/lm/wikitext2_test.txt");
  static const std::string prompt = prefix_of(corpus, kPromptBytes);
  for (const char* name : {"llama2", "tinyllama", "llama3", "falcon", "mpt", "bert"}) {
    const std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer(root / "tokenizers" / name);
    const std::string label(name);
    benchmark::RegisterBenchmark(("encode/prompt_100kB/" + label).c_str(), [=](auto& state) {
      encode(state, *tokenizer, prompt);
    })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("encode/wikitext/" + label).c_str(), [=](auto& state) {
      encode(state, *tokenizer, corpus);
    })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("decode/prompt_100kB/" + label).c_str(), [=](auto& state) {
      decode(state, *tokenizer, prompt);
    })->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  try {
    return reprise::run(argc, argv);
  } catch (const reprise::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
