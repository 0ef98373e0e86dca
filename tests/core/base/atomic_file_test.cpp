#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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

TEST_F(AtomicFileTest, ReplacesTheFileThatLinksLeadToIfItFollowsThem) {
  fs::create_directory(dir_ / "folder");
  fs::create_symlink("../a", dir_ / "folder" / "inner");
  fs::create_symlink("folder/inner", dir_ / "outer");
  for (const char* text : {"first", "second"}) {  // at first, no file is there
    AtomicFile file(dir_ / "outer", AtomicFile::Links::kFollow);
    EXPECT_FALSE(file.is_direct());
    file.write(text);
    EXPECT_NE(content_of(dir_ / "a"), text);
    file.commit();
    EXPECT_EQ(content_of(dir_ / "a"), text);
  }
  EXPECT_FALSE(fs::is_symlink(dir_ / "a"));
  EXPECT_TRUE(fs::is_symlink(dir_ / "folder" / "inner"));
  EXPECT_TRUE(fs::is_symlink(dir_ / "outer"));
  EXPECT_EQ(files(), 3u);
}

TEST_F(AtomicFileTest, ReplacesALinkUnlessItFollowsLinks) {
  std::ofstream(dir_ / "a") << "mine";
  fs::create_symlink("a", dir_ / "link");
  AtomicFile file(dir_ / "link");
  file.write("new");
  file.commit();
  EXPECT_FALSE(fs::is_symlink(dir_ / "link"));
  EXPECT_EQ(content_of(dir_ / "link"), "new");
  EXPECT_EQ(content_of(dir_ / "a"), "mine");
}

// A shell opens the file of `>` and `>>`. Programs share its descriptor and its offset.
TEST_F(AtomicFileTest, WritesToAnOpenDescriptorAtItsOffset) {
  const fs::path path = dir_ / "a", link = dir_ / "link";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  const std::string number = std::to_string(file);
  fs::create_symlink("/proc/self/fd/" + number, link);
  ASSERT_EQ(::write(file, "one ", 4), 4);
  for (const fs::path& name : {fs::path("/dev/fd/" + number), link}) {
    AtomicFile written(name, AtomicFile::Links::kFollow);
    EXPECT_TRUE(written.is_direct());
    written.write("two ");
    written.commit();
  }
  ASSERT_EQ(::write(file, "three", 5), 5);
  ::close(file);
  EXPECT_EQ(content_of(path), "one two two three");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(files(), 2u);
  EXPECT_THROW(AtomicFile(link, AtomicFile::Links::kFollow), Error) << "the descriptor is closed";
}

TEST_F(AtomicFileTest, HasTheModeOfTheOldFileOrWhatTheUmaskAllows) {
  const auto mode_of = [&](const char* name) {
    return static_cast<int>(fs::status(dir_ / name).permissions());
  };
  std::ofstream(dir_ / "old") << "old";
  fs::permissions(dir_ / "old", fs::perms{0606});
  const mode_t umask_before = ::umask(027);
  for (const char* name : {"old", "new"}) {
    AtomicFile file(dir_ / name);
    file.write("new");
    file.commit();
  }
  ::umask(umask_before);
  EXPECT_EQ(mode_of("old"), 0606);
  EXPECT_EQ(mode_of("new"), 0640);
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
