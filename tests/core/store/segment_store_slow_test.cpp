// Damages a store's folder: kills writers at any moment, damages and cuts files, fills the disk,
// runs several processes at once. A store must give whole segments, or refuse, or have none.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <random>
#include <thread>

#include "core/base/child_process.h"
#include "core/store/store_directory.h"
#include "core/store/store_gc.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/core/store/segment_writer.h"

namespace reprise::kv {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSeed = 31337;

ChildProcess start_writer(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {REPRISE_SEGMENT_WRITER};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return {command, {}};
}

// Opens the folder anew and acquires all of the writer's keys. Returns how many are there.
size_t count_sound(const fs::path& folder) {
  SegmentStore store({.directory = folder});
  EXPECT_TRUE(store.damaged().empty()) << store.damaged().at(0);
  size_t found = 0;
  for (uint64_t index = 0; index < kWriterKeys; ++index) {
    const auto handle = store.acquire(writer_key(index));
    if (!handle) continue;
    ++found;
    EXPECT_TRUE(is_writers(*handle, index)) << "key " << index << ": " << handle->note();
  }
  EXPECT_EQ(found, store.keys().size());
  return found;
}

// True if the folder holds a file that a writer has begun since `old` was listed.
bool has_a_new_write(const fs::path& folder, const std::vector<fs::path>& old) {
  const std::vector<StoreFile> unfinished = list_store(folder).unfinished;
  return std::any_of(unfinished.begin(), unfinished.end(), [&](const StoreFile& file) {
    return std::find(old.begin(), old.end(), file.path) == old.end();
  });
}

// Stops the writer inside a write and returns, however short its writes are and however busy the
// machine is.
void stop_in_a_write(const ChildProcess& writer, const fs::path& folder) {
  const auto old = files_of(folder, ".unfinished");
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < latest) {
    writer.send(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // until it has stopped
    if (has_a_new_write(folder, old)) return;
    writer.send(SIGCONT);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  ADD_FAILURE() << "in 20 s the writer was never met inside a write";
}

TEST(SegmentStoreKill, AtFiftyRandomMomentsLeavesTheOldOrTheNew) {
  SCOPED_TRACE(kSeed);
  const model::TempDir folder;
  std::mt19937_64 random(kSeed);
  size_t found = 0, with_unfinished = 0;
  for (int kill = 0; kill < 50; ++kill) {
    {
      ChildProcess writer = start_writer({"loop", folder.path().string(), std::to_string(kill)});
      // Half of the kills come inside a write, a quarter while the writer starts, and a quarter
      // later.
      if (kill % 2 == 0) {
        stop_in_a_write(writer, folder.path());
      } else {
        const uint64_t most_us = kill % 4 == 1 ? 60'000 : 10'000;
        std::this_thread::sleep_for(std::chrono::microseconds(random() % most_us));
      }
      writer.send(SIGKILL);
      ASSERT_EQ(writer.wait().signal, SIGKILL) << "it ended by itself";
    }
    with_unfinished += list_store(folder.path()).unfinished.empty() ? 0 : 1;
    const size_t now = count_sound(folder.path());
    EXPECT_GE(now, found) << "a kill lost a segment";
    found = now;
  }
  EXPECT_GT(found, kWriterKeys / 2) << "the writer was killed before it wrote";
  EXPECT_GT(with_unfinished, 0u) << "no kill fell into a write";
  collect_garbage(folder.path(), {}, 0);
  EXPECT_TRUE(list_store(folder.path()).unfinished.empty());
  EXPECT_EQ(count_sound(folder.path()), found);
}

// Flips a byte at a random place of a file, which is then read through a store.
class SegmentStoreDamage : public testing::TestWithParam<std::tuple<SegmentForm, Verify>> {
 protected:
  void SetUp() override {
    const auto [form, verify] = GetParam();
    options_ = {.directory = folder_.path(), .verify = verify, .form = form};
    SegmentStore store(options_);
    store.put(key_, writer_segment(index(), 0));
    path_ = files_of(folder_.path()).at(0);
    sound_ = content_of(path_);
    expected_ = writer_segment(index(), 0);
    if (form == SegmentForm::kInt8) expected_ = in_eight_bits(expected_);
  }
  static uint64_t index() { return std::get<0>(GetParam()) == SegmentForm::kInt8 ? 1 : 0; }

  enum class Outcome { kIdentical, kRefused, kWrong };
  // The outcome for a reader that checks each layer before use.
  Outcome read(const std::string& content) {
    write_content(path_, content);
    SegmentStore store(options_);
    try {
      const auto handle = store.acquire(key_);
      if (!handle) return store.damaged().empty() ? Outcome::kWrong : Outcome::kRefused;
      if (handle->shape() != expected_.shape || handle->note() != expected_.note)
        return Outcome::kWrong;
      bool is_refused = false;
      for (int64_t layer = 0; layer < expected_.shape.layers; ++layer) {
        try {
          handle->check_layer(layer);
        } catch (const Error&) {
          is_refused = true;
          continue;
        }
        if (!equals_in_layer(handle->view(), expected_, layer)) return Outcome::kWrong;
      }
      return is_refused ? Outcome::kRefused : Outcome::kIdentical;
    } catch (const Error& error) {
      const bool says_which = std::string(error.what()).find(path_.string()) != std::string::npos;
      return says_which ? Outcome::kRefused : Outcome::kWrong;
    }
  }

  model::TempDir folder_;
  SegmentStoreOptions options_;
  SegmentKey key_ = writer_key(0);
  fs::path path_;
  std::string sound_;
  SegmentBuffer expected_;
};

TEST_P(SegmentStoreDamage, AFlippedByteAtAThousandPlacesIsRefusedOrOfNoInfluence) {
  SCOPED_TRACE(kSeed);
  std::map<Outcome, int> outcomes;
  for (uint64_t i = 0; i < 1000; ++i) {
    // Half of them near the beginning, where the header is.
    const uint64_t range = i % 2 == 0 ? sound_.size() : uint64_t{400};
    const size_t place = random_bits(kSeed, 1, i) % range;
    std::string damaged = sound_;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 + random_bits(kSeed, 2, i) % 255));
    const Outcome outcome = read(damaged);
    ++outcomes[outcome];
    EXPECT_NE(outcome, Outcome::kWrong) << "byte " << place;
    if (outcome == Outcome::kIdentical) {
      EXPECT_EQ(sound_[place], '\0') << "only padding counts for nothing";
    }
  }
  EXPECT_GT(outcomes[Outcome::kRefused], 600);
  EXPECT_GT(outcomes[Outcome::kIdentical], 0);
}

TEST_P(SegmentStoreDamage, AFileCutOffAnywhereIsRefused) {
  for (uint64_t i = 0; i < 300; ++i) {
    const size_t bytes = random_bits(kSeed, 3, i) % sound_.size();
    EXPECT_EQ(read(sound_.substr(0, bytes)), Outcome::kRefused) << bytes << " bytes";
  }
  EXPECT_EQ(read(sound_ + '\0'), Outcome::kRefused);
  EXPECT_EQ(read(sound_), Outcome::kIdentical);
}

INSTANTIATE_TEST_SUITE_P(All, SegmentStoreDamage,
                         testing::Combine(testing::Values(SegmentForm::kPlain, SegmentForm::kInt8),
                                          testing::Values(Verify::kHeader, Verify::kAll)),
                         [](const auto& one) {
                           return std::string(name_of(std::get<0>(one.param))) +
                                  (std::get<1>(one.param) == Verify::kAll ? "_all" : "_by_layer");
                         });

// All of a folder's files but the lock.
std::map<std::string, std::string> contents_of(const fs::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& file : fs::directory_iterator(folder))
    if (file.path().filename() != "store.lock")
      contents[file.path().filename().string()] = content_of(file.path());
  return contents;
}

TEST(SegmentStoreFullDisk, LeavesTheStoreAsItWas) {
  const model::TempDir folder;
  {
    SegmentStore store({.directory = folder.path()});
    store.put(writer_key(0), writer_segment(0, 0));
    store.put(writer_key(2), writer_segment(2, 0));
  }
  const auto before = contents_of(folder.path());
  ASSERT_EQ(before.size(), 3u);
  // The disk is full at once, in the header, in the middle of the states, or just before the end.
  const auto whole =
      static_cast<int64_t>(fs::file_size(folder.path() / file_name_of(writer_key(0))));
  for (const int64_t bytes : {int64_t{0}, int64_t{100}, whole / 2, whole - 1}) {
    ChildProcess writer = start_writer({"full", folder.path().string(), std::to_string(bytes)});
    EXPECT_EQ(writer.wait().code(), 0) << bytes;
    EXPECT_EQ(contents_of(folder.path()), before) << bytes;
  }
}

// Writers with and without a budget, a collector and readers, all on one folder.
TEST(SegmentStoreProcesses, ManyAtOnceSeeWholeSegmentsAlone) {
  SCOPED_TRACE(kSeed);
  const model::TempDir folder;
  const std::string path = folder.path().string();
  int64_t found = 0, missing = 0, wrong = 0, collected = 0;
  {
    // Two writers put the same keys, and a third makes room at their expense.
    const int64_t budget = 6 * segment_file_bytes(writer_key(0), writer_segment(0, 0));
    ChildProcess one = start_writer({"loop", path, "1"}), two = start_writer({"loop", path, "2"}),
                 three = start_writer({"loop", path, "3", std::to_string(budget)});
    SegmentStore reader({.host_bytes = 1 << 18, .directory = folder.path()});
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(4);
    for (uint64_t i = 0; std::chrono::steady_clock::now() < end; ++i) {
      const uint64_t index = random_bits(kSeed, 4, i) % kWriterKeys;
      if (i % 50 == 0) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        collected += std::ssize(
            collect_garbage(folder.path(), {.budget_bytes = budget},
                            std::chrono::duration_cast<std::chrono::nanoseconds>(now).count())
                .removed);
      }
      if (i % 7 == 0) reader.prefetch(writer_key(index));
      const auto handle = reader.acquire(writer_key(index));  // never throws: no file is half
      if (!handle) {
        ++missing;
        continue;
      }
      ++found;
      wrong += is_writers(*handle, index) ? 0 : 1;
    }
    for (const ChildProcess* writer : {&one, &two, &three}) writer->send(SIGKILL);
    for (ChildProcess* writer : {&one, &two, &three}) EXPECT_EQ(writer->wait().signal, SIGKILL);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(found, 0);
  EXPECT_GT(missing, 0);
  EXPECT_GT(collected, 0);
  count_sound(folder.path());
}

}  // namespace
}  // namespace reprise::kv
