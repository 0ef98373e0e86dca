// Tests the folder of a store: what outlives a restart, to which identity states belong, damage,
// and other processes that use the folder.
#include "core/store/segment_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "core/base/error.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_testing.h"

namespace reprise::kv {
namespace {

namespace fs = std::filesystem;

TEST(SegmentStoreFolder, SurvivesARestartAndFindsTheFilesOfOthers) {
  const model::TempDir folder;
  SegmentStore other({.directory = folder.path()});
  {
    SegmentStore store({.host_bytes = 10 * kSmallSegmentBytes, .directory = folder.path()});
    store.put("a", segment_of(1));
  }
  EXPECT_TRUE(acquires(other, "a", 1)) << "written after `other` looked at the folder";
  SegmentStore again({.host_bytes = 10 * kSmallSegmentBytes, .directory = folder.path()});
  EXPECT_EQ(again.keys(), std::vector<SegmentKey>{"a"});
  EXPECT_TRUE(acquires(again, "a", 1));
  EXPECT_EQ(again.stats().disk_bytes, other.stats().disk_bytes);
}

TEST(SegmentStoreFolder, ReadsAFolderOfTheFirstFormat) {
  // Such a folder has no store.json, and files are named by the hash of the segment's name alone.
  const model::TempDir folder;
  EXPECT_EQ(file_name_of("a"), file_name_of({StoreIdentity{}, "a"}));
  write_segment(folder.path() / file_name_of("a"), "a", segment_of(1));
  SegmentStore store({.directory = folder.path()});
  EXPECT_TRUE(acquires(store, "a", 1));
  EXPECT_FALSE(fs::exists(folder.path() / "store.json"));
  store.put("b", segment_of(2));
  EXPECT_TRUE(fs::exists(folder.path() / "store.json"));
}

TEST(SegmentStoreFolder, AFolderOfANewerVersionIsRefusedByName) {
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
}

TEST(SegmentStoreFolder, AFolderThatCannotBeMadeIsAnErrorWithARemedy) {
  const model::TempDir folder;
  write_content(folder.path() / "afile", "no folder");
  model::expect_error([&] { SegmentStore({.directory = folder.path() / "afile" / "store"}); },
                      {"afile/store", "Not a directory", "Name a folder"});
}

// Each segment states its own format, so a damaged store.json loses nothing.
TEST(SegmentStoreFolder, ADamagedStoreFileIsToldAndWrittenAnew) {
  const model::TempDir folder;
  {
    SegmentStore store({.directory = folder.path()});
    store.put("a", segment_of(1));
  }
  for (const char* content : {"", "{", "{\"fromat\": 2}", "{\"format\": 0}", "[]"}) {
    write_content(folder.path() / "store.json", content);
    SegmentStore store({.directory = folder.path()});
    ASSERT_EQ(store.damaged().size(), 1u) << content;
    EXPECT_NE(store.damaged()[0].find("store.json"), std::string::npos) << store.damaged()[0];
    EXPECT_TRUE(acquires(store, "a", 1)) << content;
    store.put("b", segment_of(2));
    EXPECT_TRUE(SegmentStore({.directory = folder.path()}).damaged().empty()) << content;
  }
}

TEST(SegmentStoreFolder, ASegmentThatCannotBeWrittenStaysTheCallers) {
  const model::TempDir folder;
  SegmentStore store({.directory = folder.path()});
  fs::create_directory(folder.path() / "store.lock");
  SegmentBuffer segment = segment_of(1);
  EXPECT_THROW(store.put("a", std::move(segment)), Error);
  EXPECT_TRUE(holds(segment.view(), 1));  // NOLINT(bugprone-use-after-move)
  EXPECT_FALSE(store.acquire("a"));
}

TEST(SegmentStoreFolder, AFolderThatIsOnlyReadStaysAsItIs) {
  const model::TempDir folder;
  SegmentStore store({.directory = folder.path() / "new"});
  EXPECT_TRUE(fs::is_empty(folder.path() / "new"));
  EXPECT_FALSE(store.acquire("a"));
  EXPECT_TRUE(fs::is_empty(folder.path() / "new"));
}

TEST(SegmentStoreFolder, AFullFolderRemovesTheOldestFiles) {
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

// ---- To whom states belong. ----

TEST(SegmentStoreFolder, NeverGivesASegmentOfAnotherIdentity) {
  const model::TempDir folder;
  const StoreIdentity ours = {
      .model = "model a", .tokenizer = "tokenizer a", .schema = "schema a", .dtype = "bf16"};
  std::vector<StoreIdentity> others(4, ours);
  others[0].model = "model b";
  others[1].tokenizer = "tokenizer b";
  others[2].schema = "schema b";
  others[3].dtype = "f32";
  others.push_back({});
  // An identity whose texts, joined, equal those of another one.
  others.push_back(
      {.model = "model at", .tokenizer = "okenizer a", .schema = "schema a", .dtype = "bf16"});
  {
    SegmentStore store({.host_bytes = 3 * kSmallSegmentBytes, .directory = folder.path()});
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

// A valid file under the name of another key, as after renaming or a collision of hashes.
TEST(SegmentStoreFolder, ComparesTheWholeKey) {
  const model::TempDir folder;
  const SegmentKey key = {{.model = "m"}, "a"}, other = {{.model = "n"}, "a"};
  SegmentStore store({.directory = folder.path()});
  write_segment(folder.path() / file_name_of(other), key, segment_of(1));
  EXPECT_FALSE(store.acquire(other));
  EXPECT_FALSE(store.acquire(key));
  store.put(other, segment_of(2));
  EXPECT_TRUE(acquires(store, other, 2));
  // Replaces a file that the store already knows.
  write_segment(folder.path() / file_name_of(other), key, segment_of(1));
  SegmentStore again({.directory = folder.path()});
  ASSERT_EQ(again.damaged().size(), 1u);
  EXPECT_FALSE(store.acquire(other));
  EXPECT_FALSE(again.acquire(other));
}

// ---- Damage. ----

TEST(SegmentStoreFolder, RefusesADamagedFileAndTakesTheSegmentAnew) {
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

  const fs::path other = folder.path() / file_name_of("other");
  write_content(other, "something else");
  write_content(folder.path() / "0.segment", "of somebody else");
  SegmentStore third({.directory = folder.path()});
  ASSERT_EQ(third.damaged().size(), 1u);
  EXPECT_NE(third.damaged()[0].find(other.filename().string()), std::string::npos);
  EXPECT_EQ(third.keys().size(), 1u);
}

TEST(SegmentStoreFolder, ALayerIsCheckedWhenItIsUsed) {
  const model::TempDir folder;
  {
    SegmentStore store({.directory = folder.path()});
    store.put("a", segment_of(1));
  }
  const fs::path path = files_of(folder.path()).at(0);
  std::string content = content_of(path);
  content.back() = static_cast<char>(content.back() ^ 1);  // a byte of the last layer's values
  write_content(path, content);
  SegmentStore store({.host_bytes = 4 * kSmallSegmentBytes,
                      .directory = folder.path(),
                      .verify = Verify::kHeader});
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

TEST(SegmentStoreFolder, ErasesAFileWhoseHeaderIsDamaged) {
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

// The next put() finds the damage and forgets the file, while memory still has the segment.
TEST(SegmentStoreFolder, ErasesADamagedFileOfASegmentInMemory) {
  const model::TempDir folder;
  SegmentStore store({.host_bytes = 10 * kSmallSegmentBytes, .directory = folder.path()});
  store.put("a", segment_of(1));
  const fs::path path = files_of(folder.path()).at(0);
  write_content(path, content_of(path).substr(0, 100));
  store.put("b", segment_of(2));
  EXPECT_TRUE(acquires(store, "a", 1));
  EXPECT_TRUE(store.erase("a"));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_FALSE(store.acquire("a"));
  EXPECT_FALSE(store.erase("a"));
}

// A file that changes in place while a store is open is checked again.
TEST(SegmentStoreFolder, ChecksAgainWhatHasChanged) {
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

// ---- What outlives a restart, and other processes that use the folder. ----

TEST(SegmentStoreFolder, ARestartKnowsWhatWasUsedLast) {
  const model::TempDir folder;
  const int64_t file_bytes = segment_file_bytes("a", segment_of(1));
  {
    SegmentStore store({.directory = folder.path()});
    for (const char* key : {"a", "b", "c"}) store.put(key, segment_of(1));
  }
  // Times of the files are an hour apart: "b" is the oldest, then "c".
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

TEST(SegmentStoreFolder, ARestartKnowsWhatASegmentCost) {
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

TEST(SegmentStoreFolder, TheFoldersBudgetCountsWhatOthersHavePut) {
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
  // "a" was evicted. The first store learns of it when it asks for the segment.
  EXPECT_FALSE(one.acquire("a"));
  EXPECT_TRUE(acquires(one, "b", 2));
  EXPECT_TRUE(acquires(one, "c", 3));
  EXPECT_TRUE(acquires(one, "d", 4));
  EXPECT_EQ(one.stats().disk_bytes, two.stats().disk_bytes);
}

TEST(SegmentStoreFolder, WhatAnotherRemovesStaysReadable) {
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

// An unfinished file of a dead writer is no segment, does not count in the budget, and is removed
// by the next put().
TEST(SegmentStoreFolder, TidiesUpAfterDeadWriters) {
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

}  // namespace
}  // namespace reprise::kv
