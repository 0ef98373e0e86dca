// Tests the store and its tiers: what is kept where, what is evicted first, and what is brought
// back.
#include "core/store/segment_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <optional>
#include <thread>

#include "core/base/error.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_testing.h"

namespace reprise::kv {
namespace {

namespace fs = std::filesystem;

TEST(SegmentStore, KeepsSegmentsByTheirKeys) {
  SegmentStore store({.host_bytes = 10 * kSmallSegmentBytes});
  store.put("a", segment_of(1));
  store.put("b", segment_of(2));
  EXPECT_TRUE(acquires(store, "a", 1));
  EXPECT_TRUE(acquires(store, "b", 2));
  EXPECT_FALSE(store.acquire("c"));
  EXPECT_EQ(store.keys(), (std::vector<SegmentKey>{"a", "b"}));
  const SegmentStoreStats stats = store.stats();
  EXPECT_EQ(stats.host_bytes, 2 * kSmallSegmentBytes);
  EXPECT_EQ(stats.host_segments, 2);
  EXPECT_EQ(stats.host_hits, 2);
  EXPECT_EQ(stats.misses, 1);
}

TEST(SegmentStore, TheOldestUseGoesFirst) {
  SegmentStore store({.host_bytes = 2 * kSmallSegmentBytes});
  store.put("a", segment_of(1));
  store.put("b", segment_of(2));
  EXPECT_TRUE(acquires(store, "a", 1));
  store.put("c", segment_of(3));
  EXPECT_FALSE(store.contains("b"));
  EXPECT_TRUE(store.contains("a"));
  EXPECT_TRUE(acquires(store, "c", 3));
  EXPECT_EQ(store.stats().host_evictions, 1);
  EXPECT_EQ(store.stats().host_bytes, 2 * kSmallSegmentBytes);
}

TEST(SegmentStore, WhatIsHeldIsNotDropped) {
  SegmentStore store({.host_bytes = 2 * kSmallSegmentBytes});
  store.put("a", segment_of(1));
  store.put("b", segment_of(2));
  {
    const auto a = store.acquire("a");
    const auto b = store.acquire("b");
    try {
      store.put("c", segment_of(3));
      FAIL() << "there was no room";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(kSmallSegmentBytes)),
                std::string::npos);
    }
    EXPECT_TRUE(holds(a->view(), 1));
    EXPECT_FALSE(store.contains("c"));
    EXPECT_EQ(store.stats().host_bytes, 2 * kSmallSegmentBytes);
  }
  store.put("c", segment_of(3));
  EXPECT_TRUE(acquires(store, "c", 3));
}

TEST(SegmentStore, AHandleOutlivesReplacementErasureAndStore) {
  std::optional<SegmentHandle> old, erased;
  {
    SegmentStore store({.host_bytes = 10 * kSmallSegmentBytes});
    store.put("a", segment_of(1));
    old = store.acquire("a");
    store.put("a", segment_of(2));
    EXPECT_TRUE(acquires(store, "a", 2));
    EXPECT_EQ(store.stats().host_bytes, 2 * kSmallSegmentBytes)
        << "the held one still takes memory";
    erased = store.acquire("a");
    EXPECT_TRUE(store.erase("a"));
    EXPECT_FALSE(store.erase("a"));
    EXPECT_FALSE(store.contains("a"));
  }
  EXPECT_TRUE(holds(old->view(), 1));
  EXPECT_TRUE(holds(erased->view(), 2));
}

TEST(SegmentStore, TheDiskKeepsWhatTheHostDrops) {
  const model::TempDir folder;
  SegmentStore store({.host_bytes = kSmallSegmentBytes, .directory = folder.path()});
  for (uint64_t i = 0; i < 4; ++i) store.put(std::to_string(i), segment_of(i));
  EXPECT_EQ(store.stats().disk_segments, 4);
  EXPECT_EQ(store.stats().host_segments, 1);
  for (uint64_t i = 0; i < 4; ++i) {
    const auto handle = store.acquire(std::to_string(i));
    ASSERT_TRUE(handle);
    EXPECT_EQ(handle->tier(), i == 3 ? Tier::kHost : Tier::kDisk);
    EXPECT_TRUE(holds(handle->view(), i));
  }
  EXPECT_EQ(store.stats().disk_hits, 3);
}

TEST(SegmentStore, AStoreThatCannotKeepAnythingIsRefused) {
  EXPECT_THROW(SegmentStore({}), Error);
  EXPECT_THROW(SegmentStore({.host_bytes = -1}), Error);
  EXPECT_THROW(SegmentStore({.directory = "/proc/no_such_folder"}), Error);
}

TEST(SegmentStore, RefusesCostsThatCannotBe) {
  SegmentStore store({.host_bytes = 4 * kSmallSegmentBytes});
  for (const double cost_s :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(store.put("a", segment_of(1), cost_s), Error);
  EXPECT_FALSE(store.contains("a"));
}

// ---- Prefetch. ----

TEST(SegmentStore, PrefetchBringsToTheHost) {
  const model::TempDir folder;
  SegmentStore store({.host_bytes = kSmallSegmentBytes, .directory = folder.path()});
  store.put("a", segment_of(1));
  store.put("b", segment_of(2));
  store.prefetch("a");
  store.prefetch("no such segment");
  store.wait_for_prefetches();
  const auto handle = store.acquire("a");
  EXPECT_EQ(handle->tier(), Tier::kHost);
  EXPECT_TRUE(holds(handle->view(), 1));
  EXPECT_EQ(store.stats().prefetched, 1);
  // "a" is held: there is no room for "b", which stays where it is.
  store.prefetch("b");
  store.wait_for_prefetches();
  EXPECT_EQ(store.acquire("b")->tier(), Tier::kDisk);
}

TEST(SegmentStore, ASetIsBroughtByPriorityAndGivesUpNoneOfItsOwn) {
  const model::TempDir folder;
  SegmentStore store({.host_bytes = 3 * kSmallSegmentBytes, .directory = folder.path()});
  for (uint64_t i = 0; i < 8; ++i) store.put(std::to_string(i), segment_of(i));
  // The host holds 5, 6, 7. Segment 5 of the set is already there and the oldest; it must not be
  // evicted.
  store.prefetch_all({"0", "1", "5", "2", "3"});
  store.wait_for_prefetches();
  EXPECT_EQ(store.stats().prefetched, 2);
  for (const auto& [key, tier] : std::vector<std::pair<std::string, Tier>>{{"0", Tier::kHost},
                                                                           {"1", Tier::kHost},
                                                                           {"5", Tier::kHost},
                                                                           {"2", Tier::kDisk},
                                                                           {"3", Tier::kDisk},
                                                                           {"6", Tier::kDisk},
                                                                           {"7", Tier::kDisk}})
    EXPECT_EQ(store.acquire(key)->tier(), tier) << key;
  EXPECT_EQ(store.stats().host_bytes, 3 * kSmallSegmentBytes);
  // Another request may take the places of these segments.
  store.prefetch_all({"6", "7"});
  store.wait_for_prefetches();
  EXPECT_EQ(store.acquire("6")->tier(), Tier::kHost);
  EXPECT_EQ(store.acquire("7")->tier(), Tier::kHost);
  EXPECT_EQ(store.stats().host_bytes, 3 * kSmallSegmentBytes);
}

TEST(SegmentStore, ASetInEightBitsIsBroughtTheSameWay) {
  const model::TempDir folder;
  SegmentStore store({.host_bytes = 2 * kSmallSegmentBytes,
                      .directory = folder.path(),
                      .form = SegmentForm::kInt8});
  for (uint64_t i = 0; i < 5; ++i) store.put(std::to_string(i), finite_segment_of(i));
  store.prefetch_all({"0", "1", "2"});
  store.wait_for_prefetches();
  EXPECT_EQ(store.stats().prefetched, 2);
  EXPECT_EQ(store.stats().host_bytes, 2 * kSmallSegmentBytes);
  for (uint64_t i = 0; i < 2; ++i) {
    const auto handle = store.acquire(std::to_string(i));
    EXPECT_TRUE(equals(handle->view(), in_eight_bits(finite_segment_of(i))));
  }
  EXPECT_EQ(store.stats().host_hits, 2);
}

// ---- Eight bits. ----

TEST(SegmentStore, EightBitsGiveTheSameStatesFromEveryTier) {
  const model::TempDir folder;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    SegmentShape shape = kSmallSegment;
    shape.dtype = dtype;
    const SegmentBuffer states = finite_segment_of(1, shape), expected = in_eight_bits(states);
    const std::string key(name_of(dtype));
    const auto gives = [&](SegmentStore& store) {
      const auto handle = store.acquire(key);
      if (!handle) return false;
      for (int64_t layer = 0; layer < shape.layers; ++layer) handle->check_layer(layer);
      return handle->shape() == shape && equals(handle->view(), expected) &&
             handle->note() == "note 1";
    };
    {
      SegmentStore store({.host_bytes = 2 * shape.bytes(),
                          .directory = folder.path(),
                          .form = SegmentForm::kInt8});
      store.put(key, finite_segment_of(1, shape));
      EXPECT_EQ(store.acquire(key)->tier(), Tier::kHost);
      EXPECT_TRUE(gives(store));
    }
    {
      SegmentStore plain({.host_bytes = 2 * shape.bytes(), .directory = folder.path()});
      EXPECT_TRUE(gives(plain)) << "how others were put says nothing about this one";
      EXPECT_EQ(plain.stats().host_segments, 1) << "what is made from a file is kept";
      EXPECT_TRUE(gives(plain));
      EXPECT_EQ(plain.stats().host_hits, 1);
    }
    SegmentStore without_host({.directory = folder.path(), .verify = Verify::kHeader});
    EXPECT_TRUE(gives(without_host));
    EXPECT_EQ(without_host.stats().host_bytes, 0) << "beyond the budget while it is held alone";
    {
      const auto one = without_host.acquire(key), two = without_host.acquire(key);
      EXPECT_EQ(one->view().keys, two->view().keys) << "made once";
      EXPECT_EQ(without_host.stats().host_bytes, shape.bytes());
    }
    EXPECT_EQ(without_host.stats().host_bytes, 0);
  }
}

// The file of a segment in eight bits can be evicted although the host has a copy made from it.
TEST(SegmentStore, WhatWasBroughtFromEightBitsCanBeGivenUpOnDisk) {
  const model::TempDir folder;
  const SegmentFileOptions form = {.form = SegmentForm::kInt8};
  const int64_t file_bytes = segment_file_bytes("a", finite_segment_of(1), form);
  const SegmentStoreOptions options = {.host_bytes = 4 * kSmallSegmentBytes,
                                       .directory = folder.path(),
                                       .disk_bytes = 2 * file_bytes,
                                       .form = SegmentForm::kInt8};
  SegmentStore(options).put("a", finite_segment_of(1));
  SegmentStore store(options);
  EXPECT_EQ(store.acquire("a")->tier(), Tier::kHost);
  EXPECT_EQ(store.stats().disk_hits, 1);
  store.put("b", finite_segment_of(2));
  store.put("c", finite_segment_of(3));
  EXPECT_FALSE(fs::exists(folder.path() / file_name_of("a"))) << "the oldest";
  EXPECT_EQ(store.stats().disk_segments, 2);
  EXPECT_TRUE(equals(store.acquire("a")->view(), in_eight_bits(finite_segment_of(1))));
  EXPECT_EQ(store.stats().host_hits, 1) << "memory still has it";
}

TEST(SegmentStore, EightBitsTakeAFolderAndFiniteStates) {
  EXPECT_THROW(SegmentStore({.host_bytes = kSmallSegmentBytes, .form = SegmentForm::kInt8}), Error);
  const model::TempDir folder;
  SegmentStore store({.host_bytes = 4 * kSmallSegmentBytes,
                      .directory = folder.path(),
                      .form = SegmentForm::kInt8});
  store.put("a", finite_segment_of(1));
  SegmentBuffer bad = finite_segment_of(2);
  bad.keys.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(store.put("a", std::move(bad)), Error);
  EXPECT_TRUE(equals(store.acquire("a")->view(), in_eight_bits(finite_segment_of(1))))
      << "as it was";
}

TEST(SegmentStore, ASegmentForWhichNoTierHasRoomKeepsItsStates) {
  const model::TempDir folder;
  SegmentStore store(
      {.host_bytes = 1, .directory = folder.path(), .disk_bytes = 1, .form = SegmentForm::kInt8});
  SegmentBuffer states = finite_segment_of(1);
  EXPECT_THROW(store.put("a", std::move(states)), Error);
  EXPECT_TRUE(equals(states.view(), finite_segment_of(1)));  // NOLINT(bugprone-use-after-move)
  EXPECT_FALSE(store.contains("a"));
}

// ---- Threads. ----

// While threads put, acquire, prefetch and erase, each read gets a whole segment that some put()
// wrote.
TEST(SegmentStore, ThreadsNeverSeeHalfASegment) {
  const model::TempDir folder;
  SegmentStore store({.host_bytes = 3 * kSmallSegmentBytes, .directory = folder.path()});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0, read = 0;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 60; ++i) {
        const uint64_t word = random_bits(7, t, i);
        const uint64_t which = word % 6;
        const std::string key = std::to_string(which);
        switch (word / 6 % 4) {
          case 0:
            store.put(key, segment_of(which));
            break;
          case 1:
            store.prefetch(key);
            break;
          case 2:
            if (i % 8 == 0) store.erase(key);
            break;
          default:
            if (const auto handle = store.acquire(key)) {
              ++read;
              if (!holds(handle->view(), which)) ++wrong;
            }
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  store.wait_for_prefetches();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(read, 0);
  for (const SegmentKey& key : store.keys()) EXPECT_TRUE(store.erase(key));
  EXPECT_EQ(store.stats().host_bytes, 0);
  EXPECT_EQ(store.stats().disk_bytes, 0);
  EXPECT_TRUE(files_of(folder.path()).empty());
  EXPECT_TRUE(files_of(folder.path(), ".unfinished").empty());
}

}  // namespace
}  // namespace reprise::kv
