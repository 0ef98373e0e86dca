// main() of a test program made of several sources. With `--source=NAME` it runs only the tests of
// that source, so that each source is a ctest entry that runs as a process of its own.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace {

// GoogleTest's filter for the tests of a source; empty if there is none.
std::string tests_of(std::string_view source) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (std::filesystem::path(test.file()).filename() == source)
        filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kOption = "--source=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kOption)) continue;
    const std::string_view source = argument.substr(kOption.size());
    testing::GTEST_FLAG(filter) = tests_of(source);
    if (testing::GTEST_FLAG(filter).empty()) {
      std::fprintf(stderr, "%s: no test is defined in a source named %s\n", argv[0], source.data());
      return 1;
    }
  }
  return RUN_ALL_TESTS();
}
