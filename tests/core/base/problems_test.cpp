#include "core/base/problems.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

std::string text_of(const Problems& problems) {
  try {
    problems.raise_if_any();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Problems, OneIsToldAsItIsAndSeveralAsAListEachOnce) {
  Problems problems;
  EXPECT_EQ(text_of(problems), "");
  problems.collect([] {});
  EXPECT_EQ(text_of(problems), "");
  problems.collect([] { raise("key \"a\" is 1"); });
  problems.collect([] { raise("key \"a\" is 1"); });
  EXPECT_EQ(text_of(problems), "key \"a\" is 1");
  problems.collect([] { raise_shape("b is wrong"); });
  EXPECT_EQ(text_of(problems), "2 problems:\n- key \"a\" is 1\n- b is wrong");
}

TEST(Problems, ThoseOfAPartAreTakenOneByOne) {
  Problems problems;
  problems.collect([] { raise("a"); });
  problems.collect([] {
    Problems part;
    part.add("b");
    part.add("a");
    part.raise_if_any();
  });
  EXPECT_EQ(problems.list(), (std::vector<std::string>{"a", "b"}));
}

TEST(Problems, AnythingButAnErrorPasses) {
  Problems problems;
  EXPECT_THROW(problems.collect([] { throw std::bad_alloc(); }), std::bad_alloc);
}

}  // namespace
}  // namespace reprise
