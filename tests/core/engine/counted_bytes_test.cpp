// Compares the bytes that pools, stores and buffers count with resident memory and files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <memory>

#include "core/device/memory.h"
#include "core/kv/block_pool.h"
#include "core/store/segment_store.h"
#include "tests/core/store/segment_testing.h"
#include "tests/support/run_requests.h"
#include "tests/support/tiny_models.h"

namespace reprise {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Memory that is not counted: code and small objects touched meanwhile, and pages that the system
// counts late.
constexpr int64_t kUncounted = 6 * kMiB;

// Growth of resident memory since the object was made.
class Growth {
 public:
  [[nodiscard]] int64_t bytes() const { return resident_bytes() - before_; }

 private:
  int64_t before_ = resident_bytes();
};

// Makes the present resident set the peak. False if the system does not allow it.
bool forget_peak() {
  std::ofstream file("/proc/self/clear_refs");
  file << 5 << std::flush;
  return file.good() && peak_resident_bytes() <= resident_bytes() + kMiB;
}

void fill_block(const kv::BlockPool& pool, int32_t block) {
  const kv::CacheView view = pool.view();
  const auto from = static_cast<size_t>(pool.offset_of(block)) * size_of(view.dtype);
  const auto half = static_cast<size_t>(pool.block_bytes() / 2);
  std::memset(static_cast<char*>(view.keys) + from, 1, half);
  std::memset(static_cast<char*>(view.values) + from, 1, half);
}

TEST(CountedBytes, ThePoolsUsedAndPeakBytesAreResident) {
  const Growth growth;
  // 1 MiB a block: keys and values of two layers and heads.
  kv::BlockPool pool(
      {.layers = 2, .kv_heads = 2, .head_dim = 128, .block_tokens = 256, .num_blocks = 256});
  EXPECT_LE(growth.bytes(), kUncounted) << "blocks that nobody used";
  std::vector<int32_t> taken;
  for (const int32_t blocks : {16, 64, 200}) {
    while (pool.used_blocks() < blocks) {
      taken.push_back(pool.take());
      fill_block(pool, taken.back());
    }
    EXPECT_EQ(pool.used_bytes(), blocks * kMiB);
    EXPECT_NEAR(static_cast<double>(growth.bytes()), static_cast<double>(pool.used_bytes()),
                kUncounted)
        << blocks;
  }
  for (const int32_t block : taken) pool.release(block);
  for (int i = 0; i < 100; ++i) fill_block(pool, pool.take());
  EXPECT_EQ(pool.peak_bytes(), 200 * kMiB);
  EXPECT_NEAR(static_cast<double>(growth.bytes()), static_cast<double>(pool.peak_bytes()),
              kUncounted)
      << "released blocks are the first to be used again";
}

// The shape of a segment of 8 MiB.
constexpr kv::SegmentShape kSegment = {
    .layers = 4, .kv_heads = 4, .tokens = 512, .head_dim = 128, .dtype = DType::kF32};

void put_segments(kv::SegmentStore& store, int count) {
  for (int i = 0; i < count; ++i) {
    kv::SegmentBuffer segment(kSegment);
    std::memset(segment.keys.data(), i, segment.keys.bytes());
    std::memset(segment.values.data(), i, segment.values.bytes());
    store.put({{.model = "m"}, std::to_string(i)}, std::move(segment));
  }
}

TEST(CountedBytes, TheHostTierHoldsWhatItCounts) {
  const Growth growth;
  kv::SegmentStore store({.host_bytes = 80 * kMiB});
  put_segments(store, 6);
  EXPECT_EQ(store.stats().host_bytes, 48 * kMiB);
  EXPECT_NEAR(static_cast<double>(growth.bytes()), 48.0 * kMiB, kUncounted);
  put_segments(store, 30);
  EXPECT_EQ(store.stats().host_bytes, 80 * kMiB);
  EXPECT_NEAR(static_cast<double>(growth.bytes()), 80.0 * kMiB, kUncounted);
  for (const kv::SegmentKey& key : store.keys()) store.erase(key);
  EXPECT_EQ(store.stats().host_bytes, 0);
  EXPECT_LE(growth.bytes(), kUncounted);
}

TEST(CountedBytes, TheDiskTierTakesWhatItCounts) {
  const model::TempDir dir;
  for (const kv::SegmentForm form : {kv::SegmentForm::kPlain, kv::SegmentForm::kInt8}) {
    const auto folder = dir.path() / std::to_string(static_cast<int>(form));
    kv::SegmentStore store({.directory = folder, .disk_bytes = 50 * kMiB, .form = form});
    for (int i = 0; i < 9; ++i)
      store.put({{.model = "m"}, std::to_string(i)}, kv::finite_segment_of(1, kSegment));
    int64_t taken = 0, files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      struct stat info = {};
      ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
      if (!entry.is_regular_file()) continue;
      taken += info.st_blocks * 512;
      ++files;
    }
    EXPECT_LE(store.stats().disk_bytes, 50 * kMiB);
    EXPECT_NEAR(static_cast<double>(taken), static_cast<double>(store.stats().disk_bytes),
                static_cast<double>(files * 4096));
  }
}

TEST(CountedBytes, ARunsPeakIsThatOfItsBuffers) {
  Json config = testing::scaled_down("llama-2-7b", 64);
  config["num_attention_heads"] = config["num_key_value_heads"] = 8;
  config["hidden_size"] = 512;
  config["intermediate_size"] = 1376;
  config["num_hidden_layers"] = 4;
  config["vocab_size"] = 8000;
  config["max_position_embeddings"] = 4096;
  const Context context{.threads = 2, .isa = best_isa()};
  if (!forget_peak()) GTEST_SKIP() << "the system does not reset VmHWM";
  const Growth growth;
  AlignedBuffer::reset_peak();
  const int64_t before = AlignedBuffer::live_bytes(), resident = resident_bytes();
  const auto decoder = testing::random_decoder(config, context);
  EXPECT_NEAR(static_cast<double>(growth.bytes()),
              static_cast<double>(AlignedBuffer::live_bytes() - before), kUncounted)
      << "weights";
  std::vector<testing::Arrival> arrivals;
  for (int i = 0; i < 4; ++i) {
    std::vector<int32_t> prompt(2000);
    for (size_t t = 0; t < prompt.size(); ++t)
      prompt[t] = static_cast<int32_t>(t * 31 + static_cast<size_t>(i)) % 8000;
    arrivals.push_back({.request = {.id = i, .prompt = prompt, .max_new_tokens = 2}});
  }
  const testing::BatchRun run =
      testing::run_requests(*decoder, {"paged"}, arrivals, 4, 512, context);
  constexpr int64_t kSequences = 4, kTokens = 2000, kLayers = 4, kTokenBytes = 2 * 512 * 4;
  EXPECT_GE(run.peak_bytes, kSequences * kTokens * kLayers * kTokenBytes);
  // Pages of the pool that no sequence reached are counted by the buffers and never resident.
  const int64_t counted = AlignedBuffer::peak_bytes() - before;
  const int64_t seen = peak_resident_bytes() - resident;
  EXPECT_LE(seen, counted + kUncounted);
  EXPECT_GE(seen, counted - counted / 10 - kUncounted);
}

}  // namespace
}  // namespace reprise
