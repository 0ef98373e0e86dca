#include "core/kv/segment_store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "core/base/error.h"
#include "tests/core/kv/segment_testing.h"
#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::kv {
namespace {

namespace fs = std::filesystem;

const int64_t kBytes = kSmallSegment.bytes();

std::string name_of_file(const fs::path& folder) {
  for (const auto& file : fs::directory_iterator(folder)) return file.path().filename().string();
  return "";
}

bool acquires(SegmentStore& store, const std::string& key, uint64_t seed) {
  const auto handle = store.acquire(key);
  return handle && holds(handle->view(), seed) && handle->note() == "note " + std::to_string(seed);
}

TEST(SegmentStore, KeepsSegmentsByTheirKeys) {
  SegmentStore store({.host_bytes = 10 * kBytes});
  store.put("a", segment_of(1));
  store.put("b", segment_of(2));
  EXPECT_TRUE(acquires(store, "a", 1));
  EXPECT_TRUE(acquires(store, "b", 2));
  EXPECT_FALSE(store.acquire("c"));
  EXPECT_EQ(store.keys(), (std::vector<std::string>{"a", "b"}));
  const SegmentStoreStats stats = store.stats();
  EXPECT_EQ(stats.host_bytes, 2 * kBytes);
  EXPECT_EQ(stats.host_segments, 2);
  EXPECT_EQ(stats.host_hits, 2);
  EXPECT_EQ(stats.misses, 1);
}

TEST(SegmentStore, TheOldestUseGoesFirst) {
  SegmentStore store({.host_bytes = 2 * kBytes});
  store.put("a", segment_of(1));
  store.put("b", segment_of(2));
  EXPECT_TRUE(acquires(store, "a", 1));
  store.put("c", segment_of(3));
  EXPECT_FALSE(store.contains("b"));
  EXPECT_TRUE(store.contains("a"));
  EXPECT_TRUE(acquires(store, "c", 3));
  EXPECT_EQ(store.stats().host_evictions, 1);
  EXPECT_EQ(store.stats().host_bytes, 2 * kBytes);
}

TEST(SegmentStore, WhatIsHeldIsNotDropped) {
  SegmentStore store({.host_bytes = 2 * kBytes});
  store.put("a", segment_of(1));
  store.put("b", segment_of(2));
  {
    const auto a = store.acquire("a");
    const auto b = store.acquire("b");
    try {
      store.put("c", segment_of(3));
      FAIL() << "there was no room";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(kBytes)), std::string::npos);
    }
    EXPECT_TRUE(holds(a->view(), 1));
    EXPECT_FALSE(store.contains("c"));
    EXPECT_EQ(store.stats().host_bytes, 2 * kBytes);
  }
  store.put("c", segment_of(3));
  EXPECT_TRUE(acquires(store, "c", 3));
}

TEST(SegmentStore, AHandleOutlivesReplacementErasureAndStore) {
  std::optional<SegmentHandle> old, erased;
  {
    SegmentStore store({.host_bytes = 10 * kBytes});
    store.put("a", segment_of(1));
    old = store.acquire("a");
    store.put("a", segment_of(2));
    EXPECT_TRUE(acquires(store, "a", 2));
    EXPECT_EQ(store.stats().host_bytes, 2 * kBytes) << "the held one still takes memory";
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
  SegmentStore store({.host_bytes = kBytes, .directory = folder.path()});
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

TEST(SegmentStore, PrefetchBringsToTheHost) {
  const model::TempDir folder;
  SegmentStore store({.host_bytes = kBytes, .directory = folder.path()});
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

TEST(SegmentStore, SurvivesARestartAndFindsTheFilesOfOthers) {
  const model::TempDir folder;
  SegmentStore other({.directory = folder.path()});
  {
    SegmentStore store({.host_bytes = 10 * kBytes, .directory = folder.path()});
    store.put("a", segment_of(1));
  }
  EXPECT_TRUE(acquires(other, "a", 1)) << "written after `other` looked at the folder";
  SegmentStore again({.host_bytes = 10 * kBytes, .directory = folder.path()});
  EXPECT_EQ(again.keys(), std::vector<std::string>{"a"});
  EXPECT_TRUE(acquires(again, "a", 1));
  EXPECT_EQ(again.stats().disk_bytes, other.stats().disk_bytes);
}

TEST(SegmentStore, RefusesADamagedFileAndTakesTheSegmentAnew) {
  const model::TempDir folder;
  {
    SegmentStore store({.directory = folder.path()});
    store.put("a", segment_of(1));
  }
  const fs::path path = folder.path() / name_of_file(folder.path());
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x55');
  }
  SegmentStore store({.directory = folder.path()});
  EXPECT_TRUE(store.damaged().empty()) << "its header is sound";
  try {
    (void)store.acquire("a");
    FAIL() << "its values are damaged";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos);
  }
  store.put("a", segment_of(1));
  EXPECT_TRUE(acquires(store, "a", 1));

  std::ofstream(folder.path() / "0.segment") << "something else";
  SegmentStore third({.directory = folder.path()});
  ASSERT_EQ(third.damaged().size(), 1u);
  EXPECT_NE(third.damaged()[0].find("0.segment"), std::string::npos);
  EXPECT_EQ(third.keys().size(), 1u);
}

TEST(SegmentStore, AFullFolderRemovesTheOldestFiles) {
  const model::TempDir folder;
  const int64_t file_bytes = segment_file_bytes("a", segment_of(1));
  SegmentStore store({.directory = folder.path(), .disk_bytes = 2 * file_bytes});
  store.put("a", segment_of(1));
  store.put("b", segment_of(2));
  EXPECT_TRUE(acquires(store, "a", 1));
  store.put("c", segment_of(3));
  EXPECT_FALSE(store.contains("b"));
  EXPECT_TRUE(acquires(store, "a", 1));
  EXPECT_EQ(store.stats().disk_bytes, 2 * file_bytes);
  EXPECT_EQ(store.stats().disk_evictions, 1);
  store.put("c", segment_of(4));
  EXPECT_TRUE(acquires(store, "c", 4));
  EXPECT_EQ(store.stats().disk_bytes, 2 * file_bytes) << "replaced, not added";
}

TEST(SegmentStore, AStoreThatCannotKeepAnythingIsRefused) {
  EXPECT_THROW(SegmentStore({}), Error);
  EXPECT_THROW(SegmentStore({.host_bytes = -1}), Error);
  EXPECT_THROW(SegmentStore({.directory = "/proc/no_such_folder"}), Error);
}

// Threads that put, acquire, prefetch and erase at once always read what some put wrote whole.
TEST(SegmentStore, ThreadsNeverSeeHalfASegment) {
  const model::TempDir folder;
  SegmentStore store({.host_bytes = 3 * kBytes, .directory = folder.path()});
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
  for (const std::string& key : store.keys()) EXPECT_TRUE(store.erase(key));
  EXPECT_EQ(store.stats().host_bytes, 0);
  EXPECT_EQ(store.stats().disk_bytes, 0);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace reprise::kv
