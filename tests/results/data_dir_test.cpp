// Tests where the program looks for its own files.
#include "results/data_dir.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/program_prefix.h"
#include "tests/support/environment.h"

namespace reprise::results {
namespace {

namespace fs = std::filesystem;
using testing::EnvironmentVariable;

constexpr const char* kVariable = "REPRISE_SHARE_DIR";

TEST(DataDir, OfABuildIsTheSourceTree) {
  const EnvironmentVariable unset(kVariable, "");
  EXPECT_EQ(data_dir(), fs::canonical(REPRISE_SOURCE_DIR));
  EXPECT_TRUE(fs::is_symlink(program_prefix() / "share" / "reprise"));
}

TEST(DataDir, IsTheOneThatTheVariableNames) {
  const fs::path other = fs::path(::testing::TempDir()) / "data_dir_test";
  fs::create_directories(other / "experiments");
  {
    const EnvironmentVariable named(kVariable, other.string());
    EXPECT_EQ(data_dir(), fs::canonical(other));
  }
  fs::remove_all(other);
}

TEST(DataDir, WrongVariableIsAnErrorThatNamesBoth) {
  const EnvironmentVariable named(kVariable, "/nowhere");
  EXPECT_EQ(find_data_dir(), std::nullopt);
  try {
    (void)data_dir();
    FAIL() << "no error";
  } catch (const Error& error) {
    for (const char* part : {kVariable, "/nowhere", "experiments", "unset"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace reprise::results
