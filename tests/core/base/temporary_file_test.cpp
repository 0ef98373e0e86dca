#include "core/base/temporary_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/error.h"

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
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/nowhere", 1);
  try {
    const TemporaryFile file("reprise-test", "a");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    for (const char* part : {"/nowhere", "TMPDIR"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  if (before == nullptr)
    ::unsetenv("TMPDIR");
  else
    ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_NO_THROW((void)temporary_folder());
}

}  // namespace
}  // namespace reprise
