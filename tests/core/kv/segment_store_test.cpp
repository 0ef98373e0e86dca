#include "core/kv/segment_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <thread>

#include "core/base/error.h"
#include "tests/core/kv/segment_testing.h"
#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::kv {
namespace {

namespace fs = std::filesystem;

const int64_t kBytes = kSmallSegment.bytes();

bool acquires(SegmentStore& store, const SegmentKey& key, uint64_t seed) {
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
  EXPECT_EQ(store.keys(), (std::vector<SegmentKey>{"a", "b"}));
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
  EXPECT_EQ(again.keys(), std::vector<SegmentKey>{"a"});
  EXPECT_TRUE(acquires(again, "a", 1));
  EXPECT_EQ(again.stats().disk_bytes, other.stats().disk_bytes);
}

TEST(SegmentStore, RefusesADamagedFileAndTakesTheSegmentAnew) {
  const model::TempDir folder;
  {
    SegmentStore store({.directory = folder.path()});
    store.put("a", segment_of(1));
  }
  const fs::path path = files_of(folder.path()).at(0);
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

// ---- Whose states they are. ----

TEST(SegmentStore, NeverGivesASegmentOfAnotherIdentity) {
  const model::TempDir folder;
  const StoreIdentity ours = {
      .model = "model a", .tokenizer = "tokenizer a", .schema = "schema a", .dtype = "bf16"};
  std::vector<StoreIdentity> others(4, ours);
  others[0].model = "model b";
  others[1].tokenizer = "tokenizer b";
  others[2].schema = "schema b";
  others[3].dtype = "f32";
  others.push_back({});
  // Equal once all texts stand behind one another.
  others.push_back(
      {.model = "model at", .tokenizer = "okenizer a", .schema = "schema a", .dtype = "bf16"});
  {
    SegmentStore store({.host_bytes = 3 * kBytes, .directory = folder.path()});
    store.put({ours, "module"}, segment_of(1));
    for (const StoreIdentity& other : others) EXPECT_FALSE(store.acquire({other, "module"}));
    EXPECT_FALSE(store.acquire({ours, "modul"}));
  }
  SegmentStore again({.directory = folder.path()});
  for (const StoreIdentity& other : others) {
    EXPECT_FALSE(again.contains({other, "module"}));
    EXPECT_FALSE(again.acquire({other, "module"}));
  }
  EXPECT_TRUE(acquires(again, {ours, "module"}, 1));
  for (size_t i = 0; i < others.size(); ++i) again.put({others[i], "module"}, segment_of(10 + i));
  for (size_t i = 0; i < others.size(); ++i)
    EXPECT_TRUE(acquires(again, {others[i], "module"}, 10 + i));
  EXPECT_TRUE(acquires(again, {ours, "module"}, 1));
}

// A sound file under the name of another key: what a renamed file, or a collision of hashes, is.
TEST(SegmentStore, ComparesTheWholeKey) {
  const model::TempDir folder;
  const SegmentKey key = {{.model = "m"}, "a"}, other = {{.model = "n"}, "a"};
  SegmentStore store({.directory = folder.path()});
  write_segment(folder.path() / file_name_of(other), key, segment_of(1));
  EXPECT_FALSE(store.acquire(other));
  EXPECT_FALSE(store.acquire(key));
  store.put(other, segment_of(2));
  EXPECT_TRUE(acquires(store, other, 2));
  // Put in the place of a file that the store knows.
  write_segment(folder.path() / file_name_of(other), key, segment_of(1));
  SegmentStore again({.directory = folder.path()});
  ASSERT_EQ(again.damaged().size(), 1u);
  EXPECT_FALSE(store.acquire(other));
  EXPECT_FALSE(again.acquire(other));
}

TEST(SegmentStore, AFolderOfANewerVersionIsRefusedByName) {
  const model::TempDir folder;
  {
    SegmentStore store({.directory = folder.path()});
    store.put("a", segment_of(1));
  }
  ASSERT_TRUE(fs::exists(folder.path() / "store.json"));
  write_content(folder.path() / "store.json", "{\"format\": 3}");
  try {
    SegmentStore store({.directory = folder.path()});
    FAIL();
  } catch (const NewerFormatError& error) {
    EXPECT_NE(std::string(error.what()).find(folder.path().string()), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("format 3"), std::string::npos);
  }
  write_content(folder.path() / "store.json", "{\"fromat\": 2}");
  EXPECT_THROW(SegmentStore({.directory = folder.path()}), Error);
}

TEST(SegmentStore, AFolderThatIsOnlyReadStaysAsItIs) {
  const model::TempDir folder;
  SegmentStore store({.directory = folder.path() / "new"});
  EXPECT_TRUE(fs::is_empty(folder.path() / "new"));
  EXPECT_FALSE(store.acquire("a"));
  EXPECT_TRUE(fs::is_empty(folder.path() / "new"));
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

// A copy that the host made from a file does not keep that file from going.
TEST(SegmentStore, WhatWasBroughtFromEightBitsCanBeGivenUpOnDisk) {
  const model::TempDir folder;
  const SegmentFileOptions form = {.form = SegmentForm::kInt8};
  const int64_t file_bytes = segment_file_bytes("a", finite_segment_of(1), form);
  const SegmentStoreOptions options = {.host_bytes = 4 * kBytes,
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
  EXPECT_THROW(SegmentStore({.host_bytes = kBytes, .form = SegmentForm::kInt8}), Error);
  const model::TempDir folder;
  SegmentStore store(
      {.host_bytes = 4 * kBytes, .directory = folder.path(), .form = SegmentForm::kInt8});
  store.put("a", finite_segment_of(1));
  SegmentBuffer bad = finite_segment_of(2);
  bad.keys.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(store.put("a", std::move(bad)), Error);
  EXPECT_TRUE(equals(store.acquire("a")->view(), in_eight_bits(finite_segment_of(1))))
      << "as it was";
}

TEST(SegmentStore, RefusesCostsThatCannotBe) {
  SegmentStore store({.host_bytes = 4 * kBytes});
  for (const double cost_s :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(store.put("a", segment_of(1), cost_s), Error);
  EXPECT_FALSE(store.contains("a"));
}

// ---- Usable before it is all read. ----

TEST(SegmentStore, ALayerIsCheckedWhenItIsUsed) {
  const model::TempDir folder;
  {
    SegmentStore store({.directory = folder.path()});
    store.put("a", segment_of(1));
  }
  const fs::path path = files_of(folder.path()).at(0);
  std::string content = content_of(path);
  content.back() = static_cast<char>(content.back() ^ 1);  // of the last layer's values
  write_content(path, content);
  SegmentStore store(
      {.host_bytes = 4 * kBytes, .directory = folder.path(), .verify = Verify::kHeader});
  {
    const auto handle = store.acquire("a");
    ASSERT_TRUE(handle);
    EXPECT_NO_THROW(handle->check_layer(0));
    EXPECT_THROW(handle->check_layer(1), Error);
    EXPECT_THROW(handle->check_layer(1), Error);
  }
  store.prefetch("a");
  store.wait_for_prefetches();
  EXPECT_EQ(store.stats().host_segments, 0) << "damaged states do not come to the host";
  EXPECT_TRUE(store.erase("a"));
  EXPECT_FALSE(store.acquire("a"));
  store.put("a", segment_of(1));
  EXPECT_TRUE(acquires(store, "a", 1));
}

TEST(SegmentStore, ErasesAFileWhoseHeaderIsDamaged) {
  const model::TempDir folder;
  {
    SegmentStore store({.directory = folder.path()});
    store.put("a", segment_of(1));
  }
  const fs::path path = files_of(folder.path()).at(0);
  std::string content = content_of(path);
  content[40] = static_cast<char>(content[40] ^ 1);
  write_content(path, content);
  SegmentStore store({.directory = folder.path()});
  EXPECT_EQ(store.damaged().size(), 1u);
  EXPECT_THROW((void)store.acquire("a"), Error);
  EXPECT_TRUE(store.erase("a"));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_FALSE(store.acquire("a"));
}

// A file that is changed in place under a living store is checked again.
TEST(SegmentStore, ChecksAgainWhatHasChanged) {
  const model::TempDir folder;
  SegmentStore store({.directory = folder.path()});
  store.put("a", segment_of(1));
  EXPECT_TRUE(acquires(store, "a", 1));
  EXPECT_TRUE(acquires(store, "a", 1));
  const fs::path path = files_of(folder.path()).at(0);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x55');
  }
  EXPECT_THROW((void)store.acquire("a"), Error);
}

// ---- Prefetch of a set. ----

TEST(SegmentStore, ASetIsBroughtByPriorityAndGivesUpNoneOfItsOwn) {
  const model::TempDir folder;
  SegmentStore store({.host_bytes = 3 * kBytes, .directory = folder.path()});
  for (uint64_t i = 0; i < 8; ++i) store.put(std::to_string(i), segment_of(i));
  // On the host now: 5, 6, 7. Of the set, 5 is there already and the oldest: it must not make room.
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
  EXPECT_EQ(store.stats().host_bytes, 3 * kBytes);
  // Another request may take their places.
  store.prefetch_all({"6", "7"});
  store.wait_for_prefetches();
  EXPECT_EQ(store.acquire("6")->tier(), Tier::kHost);
  EXPECT_EQ(store.acquire("7")->tier(), Tier::kHost);
  EXPECT_EQ(store.stats().host_bytes, 3 * kBytes);
}

TEST(SegmentStore, ASetInEightBitsIsBroughtTheSameWay) {
  const model::TempDir folder;
  SegmentStore store(
      {.host_bytes = 2 * kBytes, .directory = folder.path(), .form = SegmentForm::kInt8});
  for (uint64_t i = 0; i < 5; ++i) store.put(std::to_string(i), finite_segment_of(i));
  store.prefetch_all({"0", "1", "2"});
  store.wait_for_prefetches();
  EXPECT_EQ(store.stats().prefetched, 2);
  EXPECT_EQ(store.stats().host_bytes, 2 * kBytes);
  for (uint64_t i = 0; i < 2; ++i) {
    const auto handle = store.acquire(std::to_string(i));
    EXPECT_TRUE(equals(handle->view(), in_eight_bits(finite_segment_of(i))));
  }
  EXPECT_EQ(store.stats().host_hits, 2);
}

// ---- What outlives a restart, and others at work in the folder. ----

TEST(SegmentStore, ARestartKnowsWhatWasUsedLast) {
  const model::TempDir folder;
  const int64_t file_bytes = segment_file_bytes("a", segment_of(1));
  {
    SegmentStore store({.directory = folder.path()});
    for (const char* key : {"a", "b", "c"}) store.put(key, segment_of(1));
  }
  // Times of files, an hour apart: "b" is the oldest, then "c".
  const auto now = fs::file_time_type::clock::now();
  int hours = 3;
  for (const char* key : {"b", "c", "a"})
    fs::last_write_time(folder.path() / file_name_of(key), now - std::chrono::hours(hours--));
  {
    SegmentStore store({.directory = folder.path()});
    EXPECT_TRUE(acquires(store, "b", 1));
  }
  SegmentStore store({.directory = folder.path(), .disk_bytes = 3 * file_bytes});
  store.put("d", segment_of(2));
  EXPECT_EQ(store.keys(), (std::vector<SegmentKey>{"a", "b", "d"}));
}

TEST(SegmentStore, ARestartKnowsWhatASegmentCost) {
  const model::TempDir folder;
  const int64_t file_bytes = segment_file_bytes("a", segment_of(1));
  {
    SegmentStore store({.directory = folder.path()});
    store.put("a", segment_of(1), 3.0);
    store.put("b", segment_of(2), 1.0);
    store.put("c", segment_of(3), 2.0);
  }
  SegmentStore store(
      {.directory = folder.path(), .disk_bytes = 3 * file_bytes, .eviction = Eviction::kCostAware});
  store.put("d", segment_of(4), 2.0);
  EXPECT_EQ(store.keys(), (std::vector<SegmentKey>{"a", "c", "d"}));
}

TEST(SegmentStore, TheFoldersBudgetCountsWhatOthersHavePut) {
  const model::TempDir folder;
  const int64_t file_bytes = segment_file_bytes("a", segment_of(1));
  const SegmentStoreOptions options = {.directory = folder.path(), .disk_bytes = 3 * file_bytes};
  SegmentStore one(options), two(options);
  one.put("a", segment_of(1));
  one.put("b", segment_of(2));
  fs::last_write_time(folder.path() / file_name_of("a"),
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  two.put("c", segment_of(3));
  two.put("d", segment_of(4));
  EXPECT_EQ(files_of(folder.path()).size(), 3u);
  EXPECT_EQ(two.stats().disk_bytes, 3 * file_bytes);
  // "a" went. The first store learns of it when it asks.
  EXPECT_FALSE(one.acquire("a"));
  EXPECT_TRUE(acquires(one, "b", 2));
  EXPECT_TRUE(acquires(one, "c", 3));
  EXPECT_TRUE(acquires(one, "d", 4));
  EXPECT_EQ(one.stats().disk_bytes, two.stats().disk_bytes);
}

TEST(SegmentStore, WhatAnotherRemovesStaysReadable) {
  const model::TempDir folder;
  SegmentStore one({.directory = folder.path()}), two({.directory = folder.path()});
  one.put("a", segment_of(1));
  const auto handle = one.acquire("a");
  EXPECT_TRUE(two.erase("a"));
  EXPECT_TRUE(files_of(folder.path()).empty());
  for (int64_t layer = 0; layer < kSmallSegment.layers; ++layer) handle->check_layer(layer);
  EXPECT_TRUE(holds(handle->view(), 1));
  two.put("a", segment_of(2));
  EXPECT_TRUE(holds(handle->view(), 1)) << "the mapping is of the file that was";
}

// The file that a dead writer has left is no segment, takes nothing of the budget, and goes with
// the next put().
TEST(SegmentStore, TidiesUpAfterDeadWriters) {
  const model::TempDir folder;
  write_content(folder.path() / (file_name_of("a") + ".Ab3dEf.unfinished"), "half of a segment");
  write_content(folder.path() / "notes.unfinished", "of somebody else");
  SegmentStore store({.directory = folder.path()});
  EXPECT_TRUE(store.damaged().empty());
  EXPECT_FALSE(store.acquire("a"));
  EXPECT_EQ(files_of(folder.path(), ".unfinished").size(), 2u) << "nothing is removed by looking";
  store.put("b", segment_of(2));
  EXPECT_EQ(files_of(folder.path(), ".unfinished"),
            std::vector<fs::path>{folder.path() / "notes.unfinished"});
}

TEST(SegmentStore, ReadsAFolderOfTheFirstFormat) {
  // No store.json, and a file under the hash of its name alone.
  const model::TempDir folder;
  EXPECT_EQ(file_name_of("a"), file_name_of({StoreIdentity{}, "a"}));
  write_segment(folder.path() / file_name_of("a"), "a", segment_of(1));
  SegmentStore store({.directory = folder.path()});
  EXPECT_TRUE(acquires(store, "a", 1));
  EXPECT_FALSE(fs::exists(folder.path() / "store.json"));
  store.put("b", segment_of(2));
  EXPECT_TRUE(fs::exists(folder.path() / "store.json"));
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
  for (const SegmentKey& key : store.keys()) EXPECT_TRUE(store.erase(key));
  EXPECT_EQ(store.stats().host_bytes, 0);
  EXPECT_EQ(store.stats().disk_bytes, 0);
  EXPECT_TRUE(files_of(folder.path()).empty());
  EXPECT_TRUE(files_of(folder.path(), ".unfinished").empty());
}

}  // namespace
}  // namespace reprise::kv
