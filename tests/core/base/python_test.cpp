#include "core/base/python.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/base/temporary_file.h"
#include "tests/support/named_python.h"

namespace reprise {
namespace {

using testing::NamedPython;

const PythonLibrary kOfItsOwn{.name = "json", .package = "python3"};
const PythonLibrary kNowhere{.name = "reprise_has_no_such_library", .package = "python3-nowhere"};

std::string refusal(const PythonLibrary& library) {
  try {
    (void)find_python(library);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Python, IsTheFirstThatHasTheLibrary) {
  const NamedPython none(nullptr);
  const std::optional<std::string> found = find_python(kOfItsOwn);
  if (!found) GTEST_SKIP() << "there is no python3";
  EXPECT_EQ(find_python(kNowhere), std::nullopt);
  const NamedPython named(found->c_str());
  EXPECT_EQ(find_python(kOfItsOwn), found);
}

TEST(Python, RunsNoCodeOfTheWorkingDirectory) {
  namespace fs = std::filesystem;
  const NamedPython none(nullptr);
  const fs::path before = fs::current_path(),
                 folder = fs::path(::testing::TempDir()) /
                          ("reprise_python_test_" + std::to_string(::getpid()));
  fs::create_directory(folder);
  for (const char* name : {"json.py", "matplotlib.py"})
    std::ofstream(folder / name) << "open('marker', 'w').close()\n";
  fs::current_path(folder);
  (void)find_python(kOfItsOwn);
  (void)find_python({.name = "matplotlib", .package = "python3-matplotlib"});
  fs::current_path(before);
  EXPECT_FALSE(fs::exists(folder / "marker"));
  fs::remove_all(folder);
}

TEST(Python, NamedByTheUserIsTakenOrRefusedAndNeverReplaced) {
  {
    const NamedPython named("/bin/false");
    EXPECT_NE(refusal(kOfItsOwn).find("REPRISE_PYTHON is \"/bin/false\", which is no Python"),
              std::string::npos);
  }
  {
    const NamedPython named("/bin/echo");
    EXPECT_NE(refusal(kOfItsOwn).find("asked for its version it printed"), std::string::npos);
  }
  {
    const TemporaryFile script("reprise-python", "#!/bin/sh\necho Python 3\n");
    std::filesystem::permissions(script.path(), std::filesystem::perms::owner_all);
    const NamedPython named(script.path().c_str());
    EXPECT_NE(refusal(kOfItsOwn).find("which is no Python"), std::string::npos);
  }
  const NamedPython none(nullptr);
  const std::optional<std::string> found = find_python(kOfItsOwn);
  if (!found) GTEST_SKIP() << "there is no python3";
  const NamedPython named(found->c_str());
  const std::string why = refusal(kNowhere);
  EXPECT_NE(why.find("cannot import reprise_has_no_such_library"), std::string::npos) << why;
  EXPECT_NE(why.find("python3-nowhere"), std::string::npos) << why;
}

}  // namespace
}  // namespace reprise
