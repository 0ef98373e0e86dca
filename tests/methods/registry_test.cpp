#include "methods/registry.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::methods {
namespace {

using model::expect_error;

TEST(Registry, EveryMethodIsMadeByItsNameWithDefaults) {
  std::set<std::string> names;
  for (const reuse::MethodInfo& info : known_methods()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " twice";
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_EQ(make_method(info.name, {})->info().name, info.name);
    EXPECT_EQ(make_method(info.name, Json::object())->info().name, info.name);
  }
  EXPECT_TRUE(names.contains("contiguous"));
  EXPECT_TRUE(names.contains("recompute"));
}

TEST(Registry, UnknownMethodIsAnErrorThatSuggestsTheNearest) {
  expect_error([] { make_method("contigous", {}); },
               {"unknown method \"contigous\"", "did you mean \"contiguous\"?", "recompute"});
  expect_error([] { make_method("", {}); }, {"unknown method \"\""});
}

TEST(Registry, UnknownOptionIsAnErrorThatNamesTheMethod) {
  for (const reuse::MethodInfo& info : known_methods())
    expect_error(
        [&] {
          make_method(info.name, {{"no_such_option", 1}});
        },
        {info.name, "no_such_option"});
}

TEST(Registry, OptionsMustBeAnObject) {
  expect_error([] { make_method("contiguous", Json::array({1})); }, {"contiguous", "JSON object"});
  expect_error([] { make_method("contiguous", "fast"); }, {"contiguous", "JSON object"});
}

TEST(Registry, EveryMethodStatesAPoolItsLimitsFitInto) {
  for (const reuse::MethodInfo& info : known_methods()) {
    const reuse::PoolNeed need =
        make_method(info.name, {})->pool_need({.max_batch = 3, .max_sequence_tokens = 100});
    EXPECT_GE(int64_t{need.block_tokens} * need.num_blocks, 300) << info.name;
  }
}

}  // namespace
}  // namespace reprise::methods
