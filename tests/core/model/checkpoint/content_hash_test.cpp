#include "core/model/checkpoint/content_hash.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/base/json.h"
#include "core/model/checkpoint/safetensors.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"

namespace reprise::model {
namespace {

namespace fs = std::filesystem;

// A file of two tensors. One of them alone exceeds the size up to which files are always read
// whole.
class LargeFile : public ::testing::Test {
 protected:
  static constexpr int64_t kLarge = kWholeFileBytes + 4096, kSmall = 20'000;

  void SetUp() override {
    path_ = folder_.write(
        "model.safetensors",
        safetensors_bytes(
            fmt::format(R"({{"large":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{}]}},)"
                        R"("small":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}}}})",
                        kLarge / 4, kLarge, kSmall / 4, kLarge, kLarge + kSmall),
            ""));
    begin_ = static_cast<int64_t>(fs::file_size(path_));
    fs::resize_file(path_, static_cast<uintmax_t>(begin_ + kLarge + kSmall));
  }
  [[nodiscard]] uint64_t hash(Coverage coverage, KeptHashes* kept = nullptr) const {
    return content_hash_of(path_, coverage, kept).hash;
  }
  // Changes one byte of the tensors' data in place.
  void change(int64_t byte) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(begin_ + byte);
    const int before = file.get();
    file.seekp(begin_ + byte);
    file.put(static_cast<char>(before ^ 1));
    ASSERT_TRUE(file.good());
  }

  TempDir folder_;
  fs::path path_;
  int64_t begin_ = 0;
};

TEST_F(LargeFile, SamplesCoverEveryTensorFromItsFirstByteToItsLast) {
  const ContentHash samples = content_hash_of(path_, Coverage::kSamples);
  EXPECT_LT(samples.hashed_bytes, 100'000);
  EXPECT_EQ(samples.file_bytes, begin_ + kLarge + kSmall);
  for (const int64_t byte :
       {int64_t{0}, int64_t{4095}, kLarge - 4096, kLarge - 1, kLarge, kLarge + kSmall / 2,
        kLarge + kSmall - 1, (kLarge - 4096) / 7 * 3 + 100}) {
    change(byte);
    EXPECT_NE(hash(Coverage::kSamples), samples.hash) << byte;
    change(byte);
    EXPECT_EQ(hash(Coverage::kSamples), samples.hash) << byte;
  }
}

TEST_F(LargeFile, TheWholeFileIsCoveredWhereThatIsAskedFor) {
  const ContentHash whole = content_hash_of(path_, Coverage::kWhole);
  EXPECT_EQ(whole.hashed_bytes, whole.file_bytes);
  const uint64_t samples = hash(Coverage::kSamples);
  for (const int64_t byte : {int64_t{4096}, kLarge / 2 + 1, kLarge - 4097}) {
    change(byte);
    EXPECT_EQ(hash(Coverage::kSamples), samples) << "between samples: byte " << byte;
    EXPECT_NE(hash(Coverage::kWhole), whole.hash) << byte;
    change(byte);
  }
  EXPECT_EQ(hash(Coverage::kWhole), whole.hash);
}

TEST_F(LargeFile, AKeptHashStandsForTheFileUntilItChanges) {
  const fs::path list = folder_.path() / "weights.json";
  FileStamp file = *stamp_of(path_);
  {
    KeptHashes kept(list);
    EXPECT_EQ(kept.find(file), std::nullopt);
    kept.add(file, 41);
    EXPECT_EQ(kept.find(file), std::nullopt) << "changed a moment ago";
  }
  // Writes a list which says that the file has been unchanged for an hour.
  const auto write_list = [&](const FileStamp& of) {
    const Json entry = {{"device", of.device},
                        {"inode", of.inode},
                        {"bytes", of.bytes},
                        {"change_ns", of.change_ns},
                        {"hash", 41}};
    std::ofstream(list) << Json{{"whole_files", Json::array({entry})}};
  };
  write_list(file);
  KeptHashes kept(list);
  EXPECT_EQ(hash(Coverage::kWhole, &kept), 41u) << "the file was not read";
  EXPECT_NE(hash(Coverage::kSamples, &kept), 41u);
  const fs::file_time_type time = fs::last_write_time(path_);
  change(kLarge / 2);
  fs::last_write_time(path_, time);
  EXPECT_NE(hash(Coverage::kWhole, &kept), 41u) << "changed, with its time set back";

  file.change_ns -= 3'600'000'000'000;
  kept.add(file, 42);
  EXPECT_EQ(KeptHashes(list).find(file), 42u);
  EXPECT_EQ(KeptHashes(list).find(*stamp_of(path_)), std::nullopt);
}

// A store's first run hashes the weights before it creates the store.
TEST_F(LargeFile, AHashIsKeptInAFolderThatDoesNotExistYet) {
  const fs::path list = folder_.path() / "new" / "store" / "weights.json";
  FileStamp file = *stamp_of(path_);
  file.change_ns -= 3'600'000'000'000;
  KeptHashes(list).add(file, 43);
  EXPECT_EQ(KeptHashes(list).find(file), 43u);
}

TEST_F(LargeFile, ADamagedListOrAFolderThatCannotBeMadeKeepsNothing) {
  for (const char* text : {"", "{", "[]", "{\"whole_files\":3}", "{\"whole_files\":[{}]}"}) {
    const fs::path list = folder_.write("weights.json", text);
    EXPECT_EQ(KeptHashes(list).find(*stamp_of(path_)), std::nullopt) << text;
  }
  KeptHashes nowhere(path_ / "weights.json");  // below a file
  FileStamp file = *stamp_of(path_);
  file.change_ns -= 3'600'000'000'000;
  EXPECT_NO_THROW(nowhere.add(file, 1));
  EXPECT_EQ(nowhere.find(file), 1u);
  EXPECT_EQ(KeptHashes(path_ / "weights.json").find(file), std::nullopt);
}

TEST_F(LargeFile, AFileThatIsNoCheckpointOrIsNotThereIsNamed) {
  fs::resize_file(path_, static_cast<uintmax_t>(kWholeFileBytes + 1));
  for (const fs::path& path : {path_, folder_.path() / "none.safetensors"}) try {
      (void)content_hash_of(path, Coverage::kSamples);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(path.filename().string()), std::string::npos);
    }
}

}  // namespace
}  // namespace reprise::model
