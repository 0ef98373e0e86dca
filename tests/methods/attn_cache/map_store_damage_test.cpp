// Damages map stores: kills writers at any moment, flips bytes, cuts files. A store must give the
// maps that were written, or refuse.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include "core/base/child_process.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/methods/attn_cache/map_testing.h"

namespace reprise::attn_cache {
namespace {

namespace fs = std::filesystem;
using model::TempDir;

constexpr uint64_t kSeed = 4711;

size_t unfinished_files(const fs::path& folder) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    count += AtomicFile::is_unfinished(entry.path()) ? 1 : 0;
  return count;
}

// Stops the writer inside a write, and returns. Works however short the writes are.
bool stop_in_a_write(const ChildProcess& writer, const fs::path& folder, size_t old) {
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < latest) {
    writer.send(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // until it has stopped
    if (unfinished_files(folder) > old) return true;
    writer.send(SIGCONT);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return false;
}

#ifdef __SANITIZE_ADDRESS__  // its programs start and write more slowly
constexpr uint64_t kLongestLifeUs = 600'000;
#else
constexpr uint64_t kLongestLifeUs = 60'000;
#endif

TEST(MapStoreKill, AtFiftyRandomMomentsLeavesTheOldOrTheNew) {
  SCOPED_TRACE(kSeed);
  const TempDir folder;
  const fs::path path = folder.path() / "prompts.maps";
  int opened = 0;
  std::set<uint64_t> seeds;
  for (uint64_t kill = 0; kill < 50; ++kill) {
    const size_t old = unfinished_files(folder.path());
    {
      ChildProcess writer({REPRISE_MAP_STORE_WRITER, path.string(), std::to_string(kSeed + kill)},
                          {});
      // Kills half of the writers inside a write, and the others while they start or later.
      if (kill % 2 == 0) {
        ASSERT_TRUE(stop_in_a_write(writer, folder.path(), old));
      } else {
        const uint64_t most_us = kill % 4 == 1 ? kLongestLifeUs : 10'000;
        std::this_thread::sleep_for(
            std::chrono::microseconds(random_bits(kSeed, 3, kill) % most_us));
      }
      writer.send(SIGKILL);
      ASSERT_EQ(writer.wait().signal, SIGKILL) << "it ended by itself";
    }
    // A half-written file must be refused if a reader opens it, unless only its rename was missing.
    for (const auto& entry : fs::directory_iterator(folder.path()))
      if (AtomicFile::is_unfinished(entry.path())) {
        try {
          EXPECT_TRUE(has_right_maps(MapStore(entry.path())));  // killed before the rename
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find(entry.path().string()), std::string::npos);
        }
      }
    if (!fs::exists(path)) {
      EXPECT_EQ(opened, 0) << "a kill lost the store";
      continue;
    }
    const MapStore store(path);
    EXPECT_EQ(store.groups().size(), 4u);
    EXPECT_TRUE(has_right_maps(store));
    seeds.insert(store.groups()[0].prompt_hash);
    ++opened;
  }
  EXPECT_GT(opened, 25);
  EXPECT_GT(seeds.size(), 1u)
      << "the writers wrote nothing new";  // on a busy machine, few writers get to an end
  EXPECT_GT(unfinished_files(folder.path()), 0u) << "no kill fell into a write";
}

class MapStoreDamage : public ::testing::TestWithParam<MapForm> {
 protected:
  void SetUp() override {
    write_store(path_, identity_of(GetParam()), 3);
    sound_ = read_file(path_);
  }

  enum class Outcome { kIdentical, kRefused, kWrong };
  // The outcome for a reader that checks each map before use.
  Outcome read(const std::string& content) {
    folder_.write("prompts.maps", content);
    try {
      const MapStore store(path_);
      if (store.identity() != identity_of(GetParam()) || store.groups().size() != 3)
        return Outcome::kWrong;
      for (size_t g = 0; g < 3; ++g)
        if (store.groups()[g].prompt_hash != 100 + g) return Outcome::kWrong;
      return has_right_maps(store) ? Outcome::kIdentical : Outcome::kWrong;
    } catch (const Error& error) {
      const bool says_which = std::string(error.what()).find(path_.string()) != std::string::npos;
      return says_which ? Outcome::kRefused : Outcome::kWrong;
    }
  }

  TempDir folder_;
  fs::path path_ = folder_.path() / "prompts.maps";
  std::string sound_;
};

TEST_P(MapStoreDamage, AFlippedByteIsRefusedOrOfNoInfluence) {
  SCOPED_TRACE(kSeed);
  std::map<Outcome, int> outcomes;
  for (uint64_t i = 0; i < 300; ++i) {
    // A third of the bytes lie near the end, where the table is, a third in the first group, and
    // the rest anywhere.
    const uint64_t range = i % 3 == 0 ? sound_.size() : 600;
    const size_t place = i % 3 == 1   ? sound_.size() - 1 - random_bits(kSeed, 4, i) % range
                         : i % 3 == 2 ? 4096 + random_bits(kSeed, 4, i) % range
                                      : random_bits(kSeed, 4, i) % range;
    std::string damaged = sound_;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 + random_bits(kSeed, 5, i) % 255));
    const Outcome outcome = read(damaged);
    ++outcomes[outcome];
    EXPECT_NE(outcome, Outcome::kWrong) << "byte " << place;
    if (outcome == Outcome::kIdentical) {
      EXPECT_EQ(sound_[place], '\0') << "only padding counts for nothing";
    }
  }
  EXPECT_GT(outcomes[Outcome::kRefused], 150);  // between small maps there is much padding
  EXPECT_GT(outcomes[Outcome::kIdentical], 0);
}

TEST_P(MapStoreDamage, AFileCutOffAnywhereIsRefused) {
  for (uint64_t i = 0; i < 100; ++i) {
    const size_t bytes = random_bits(kSeed, 6, i) % sound_.size();
    EXPECT_EQ(read(sound_.substr(0, bytes)), Outcome::kRefused) << bytes << " bytes";
  }
  EXPECT_EQ(read(sound_ + '\0'), Outcome::kRefused);
  EXPECT_EQ(read(sound_), Outcome::kIdentical);
}

INSTANTIATE_TEST_SUITE_P(Forms, MapStoreDamage,
                         ::testing::Values(MapForm::kF32, MapForm::kBF16, MapForm::kU8),
                         [](const auto& one) { return std::string(name_of(one.param)); });

// One damaged map does not spoil the others.
TEST(MapStoreDamage, IsFoundWhenTheMapIsUsedAndNotBefore) {
  const TempDir folder;
  const fs::path path = folder.path() / "prompts.maps";
  write_store(path, identity_of(MapForm::kBF16), 2);
  std::string content = read_file(path);
  const MapGroup second = MapStore(path).groups()[1];
  content[second.begin + 10] = static_cast<char>(content[second.begin + 10] ^ 1);
  folder.write("prompts.maps", content);
  const MapStore store(path);
  EXPECT_NO_THROW(store.check_layers(0, 0, 3));
  EXPECT_NO_THROW(store.check_layers(1, 1, 3));
  for (int twice = 0; twice < 2; ++twice)
    model::expect_error([&] { store.check_layers(1, 0, 1); },
                        {path.string(), "group 1, layer 0", "Remove it"});
  EXPECT_THROW(store.check_all(), Error);
}

}  // namespace
}  // namespace reprise::attn_cache
