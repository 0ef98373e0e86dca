#include "core/base/python.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/error.h"

namespace reprise {
namespace {

const PythonLibrary kOfItsOwn{.name = "json", .package = "python3"};
const PythonLibrary kNowhere{.name = "reprise_has_no_such_library", .package = "python3-nowhere"};

// REPRISE_PYTHON for as long as this lives; nullptr: not set.
class Named {
 public:
  explicit Named(const char* python) {
    if (const char* old = std::getenv("REPRISE_PYTHON")) old_ = old;
    if (python == nullptr) {
      ::unsetenv("REPRISE_PYTHON");
    } else {
      ::setenv("REPRISE_PYTHON", python, 1);
    }
  }
  ~Named() {
    if (old_) {
      ::setenv("REPRISE_PYTHON", old_->c_str(), 1);
    } else {
      ::unsetenv("REPRISE_PYTHON");
    }
  }
  Named(const Named&) = delete;
  Named& operator=(const Named&) = delete;

 private:
  std::optional<std::string> old_;
};

std::string refusal(const PythonLibrary& library) {
  try {
    (void)find_python(library);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Python, IsTheFirstThatHasTheLibrary) {
  const Named none(nullptr);
  const std::optional<std::string> found = find_python(kOfItsOwn);
  if (!found) GTEST_SKIP() << "there is no python3";
  EXPECT_EQ(find_python(kNowhere), std::nullopt);
  const Named named(found->c_str());
  EXPECT_EQ(find_python(kOfItsOwn), found);
}

TEST(Python, NamedByTheUserIsTakenOrRefusedAndNeverReplaced) {
  {
    const Named named("/bin/false");
    EXPECT_NE(refusal(kOfItsOwn).find("REPRISE_PYTHON is \"/bin/false\", which is no Python"),
              std::string::npos);
  }
  {
    const Named named("/bin/echo");
    EXPECT_NE(refusal(kOfItsOwn).find("asked for its version it printed"), std::string::npos);
  }
  const Named none(nullptr);
  const std::optional<std::string> found = find_python(kOfItsOwn);
  if (!found) GTEST_SKIP() << "there is no python3";
  const Named named(found->c_str());
  const std::string why = refusal(kNowhere);
  EXPECT_NE(why.find("cannot import reprise_has_no_such_library"), std::string::npos) << why;
  EXPECT_NE(why.find("python3-nowhere"), std::string::npos) << why;
}

}  // namespace
}  // namespace reprise
