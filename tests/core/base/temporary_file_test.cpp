#include "core/base/temporary_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "core/base/error.h"
#include "core/base/temporary_folder.h"
#include "tests/support/environment.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

TEST(TemporaryFile, HoldsItsBytesForThisUserAloneUntilItEnds) {
  std::string path;
  {
    const TemporaryFile file("reprise-test", std::string_view("a\0b", 3));
    path = file.path();
    std::ifstream in(path, std::ios::binary);
    const std::string read(std::istreambuf_iterator<char>(in), {});
    EXPECT_EQ(read, std::string("a\0b", 3));
    EXPECT_EQ(fs::status(path).permissions() & (fs::perms::group_all | fs::perms::others_all),
              fs::perms::none);
    EXPECT_NE(path.find("/reprise-test-"), std::string::npos) << path;
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryFile, TwoOfOneNameAreTwo) {
  const TemporaryFile a("reprise-test", "a"), b("reprise-test", "b");
  EXPECT_NE(a.path(), b.path());
}

TEST(TemporaryFile, NamesThePathThatCannotBeWritten) {
  try {
    const TemporaryFile file("no/such/folder", "a");
    FAIL() << "no error";
  } catch (const Error& error) {
    for (const char* part : {"no/such/folder", "Set TMPDIR"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(TemporaryFile, TmpdirThatIsNoFolderIsNamed) {
  const TemporaryFile plain("reprise-test", "a");
  for (const std::string& place : {std::string("/nowhere"), plain.path()}) {
    const testing::EnvironmentVariable tmpdir("TMPDIR", place);
    for (const auto& make : {std::function<void()>([] { TemporaryFile("reprise-test", "a"); }),
                             std::function<void()>([] { (void)make_temporary_folder("test"); })})
      try {
        make();
        ADD_FAILURE() << "no error for " << place;
      } catch (const Error& error) {
        for (const std::string& part : {place, std::string("Set TMPDIR")})
          EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      }
  }
}

TEST(TemporaryFile, AnEmptyTmpdirCountsAsUnset) {
  const testing::EnvironmentVariable tmpdir("TMPDIR", "");
  EXPECT_EQ(temporary_folder(), "/tmp");
}

}  // namespace
}  // namespace reprise
