#include "core/base/atomic_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "core/base/error.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest()
      : dir_(fs::path(testing::TempDir()) /
             testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  ~AtomicFileTest() override { fs::remove_all(dir_); }

  [[nodiscard]] size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(dir_), {}));
  }

  fs::path dir_;
};

TEST_F(AtomicFileTest, AppearsWholeWithCommit) {
  const fs::path path = dir_ / "a";
  AtomicFile file(path);
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(file.bytes_written(), 7u);
  file.commit();
  EXPECT_EQ(content_of(path), "one two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, WithoutCommitTheOldFileStays) {
  const fs::path path = dir_ / "a";
  std::ofstream(path) << "old";
  {
    AtomicFile file(path);
    file.write("half of something new");
    EXPECT_EQ(content_of(path), "old");
  }
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, WritersOfOnePathDoNotDisturbEachOther) {
  const fs::path path = dir_ / "a";
  AtomicFile first(path), second(path);
  first.write("first");
  second.write("second");
  second.commit();
  EXPECT_EQ(content_of(path), "second");
  first.commit();
  EXPECT_EQ(content_of(path), "first");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, NamesThePathThatCannotBeWritten) {
  try {
    AtomicFile file(dir_ / "no_such_folder" / "a");
    FAIL() << "a file in a folder that does not exist";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no_such_folder/a"), std::string::npos);
  }
}

TEST_F(AtomicFileTest, WritesToWhatIsNoRegularFileAsItIs) {
  AtomicFile null("/dev/null");
  null.write("gone");
  null.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  AtomicFile full("/dev/full");
  try {
    full.write("no room");
    FAIL() << "a full device took bytes";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("No space left on device. Free some space"),
              std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(AtomicFileTest, KnowsWhatAKilledWriterLeaves) {
  const fs::path path = dir_ / "a";
  AtomicFile file(path);
  ASSERT_EQ(files(), 1u);
  EXPECT_TRUE(AtomicFile::is_unfinished(fs::directory_iterator(dir_)->path()));
  EXPECT_FALSE(AtomicFile::is_unfinished(path));
}

}  // namespace
}  // namespace reprise
