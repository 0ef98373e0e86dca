// Tests options that are declared once: how they are read, refused, listed and recorded.
#include "core/reuse/options.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"

namespace reprise::reuse {
namespace {

using model::expect_error;

struct EveryType {
  int32_t tokens = 32;
  double share = 0.5;
  bool keeps = false;
  std::string order = "first";

  void visit(OptionVisitor& visitor) {
    visitor.integer({"tokens", "tokens", "how many"}, {16, 64, 16}, tokens);
    visitor.real({"share", "", "of the whole"}, {0, 1}, share);
    visitor.boolean({"keeps", "", "what it has"}, keeps);
    visitor.word({"order", "", "of the visit"}, {"first", "last"}, order);
  }
  void check(const JsonObject& given) const {
    if (keeps && tokens == 16) raise("{}: 16 tokens are too few to keep", given.where("keeps"));
  }
  static std::vector<Preset<EveryType>> presets() {
    return {{"plain", "the defaults", {}}, {"large", "more of all", {.tokens = 64, .share = 1}}};
  }
};

EveryType read(const Json& json) { return read_options<EveryType>(fields_of(json), "options"); }

TEST(Options, WhatIsGivenIsLaidOverThePresetItNames) {
  EXPECT_EQ(read(Json::object()).tokens, 32);
  const EveryType large = read({{"preset", "large"}, {"tokens", 48}, {"order", "last"}});
  EXPECT_EQ(large.tokens, 48);
  EXPECT_EQ(large.share, 1);
  EXPECT_EQ(large.order, "last");
  EXPECT_TRUE(read({{"keeps", true}}).keeps);
  EXPECT_EQ(read({{"share", 1}}).share, 1.0);
}

TEST(Options, MistakesNameOptionFoundAndAccepted) {
  expect_error([] { read({{"tokens", 8}}); }, {"tokens", "8", "16 to 64"});
  expect_error([] { read({{"tokens", 40}}); }, {"tokens", "40", "multiple of 16", "32"});
  expect_error([] { read({{"tokens", "many"}}); }, {"tokens", "many", "whole number"});
  expect_error([] { read({{"share", 1.5}}); }, {"share", "1.5", "0 to 1"});
  expect_error([] { read({{"share", std::numeric_limits<double>::quiet_NaN()}}); }, {"share"});
  expect_error([] { read({{"keeps", 1}}); }, {"keeps", "true or false"});
  expect_error([] { read({{"order", "lst"}}); }, {"order", "did you mean \"last\"?"});
  expect_error([] { read({{"preset", "larg"}}); }, {"preset", "did you mean \"large\"?"});
  expect_error([] { read({{"token", 32}}); }, {"did you mean \"tokens\"?"});
  expect_error([] { read({{"keeps", true}, {"tokens", 16}}); }, {"keeps", "too few"});
}

TEST(Options, TheCopyForARecordHoldsEveryOption) {
  EXPECT_EQ(json_of(options_fields(read({{"preset", "large"}, {"keeps", true}}))),
            Json({{"tokens", 64}, {"share", 1.0}, {"keeps", true}, {"order", "first"}}));
}

TEST(Options, TheListHoldsDefaultsRangesUnitsAndPresets) {
  const OptionList list = list_options<EveryType>();
  ASSERT_EQ(list.options.size(), 4u);
  EXPECT_EQ(list.options[0].fallback, "32");
  EXPECT_EQ(list.options[0].accepted, "16 to 64, a multiple of 16");
  EXPECT_EQ(list.options[0].unit, "tokens");
  EXPECT_EQ(list.options[1].fallback, "0.5");
  EXPECT_EQ(list.options[1].accepted, "0 to 1");
  EXPECT_EQ(list.options[2].fallback, "false");
  EXPECT_EQ(list.options[3].accepted, "first, last");
  ASSERT_EQ(list.presets.size(), 2u);
  EXPECT_TRUE(list.presets[0].changes.empty());
  EXPECT_EQ(json_of(list.presets[1].changes), Json({{"tokens", 64}, {"share", 1.0}}));
  EXPECT_TRUE(list_options<NoOptions>().options.empty());
}

}  // namespace
}  // namespace reprise::reuse
