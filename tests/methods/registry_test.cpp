#include "methods/registry.h"

#include <gtest/gtest.h>

#include <set>

#include "core/model/network/decoder.h"
#include "tests/core/model/checkpoint/model_files.h"
#include "tests/support/json.h"

namespace reprise::methods {
namespace {

using model::expect_error;

TEST(Registry, EveryMethodIsMadeByItsNameWithDefaults) {
  std::set<std::string> names;
  for (const auto& [info, resolve, make, list_options] : known_methods()) {
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
  for (const auto& [info, resolve, make, list_options] : known_methods())
    expect_error(
        [&] {
          make_method(info.name, {{"no_such_option", 1}});
        },
        {info.name, "no_such_option"});
}

TEST(Registry, ListedDefaultsAreThoseOfAMethodMadeWithoutOptions) {
  for (const auto& [info, resolve, make, list_options] : known_methods()) {
    const Fields none;
    const Json resolved = json_of(resolve_options(info.name, JsonObject(none, "none")));
    const reuse::OptionList list = list_options();
    EXPECT_GE(list.options.size(), resolved.size()) << info.name;
    for (const reuse::OptionInfo& option : list.options) {
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_FALSE(option.accepted.empty()) << option.name;
      if (!resolved.contains(option.name)) {  // the option has no value unless it is given
        EXPECT_EQ(option.fallback, "") << info.name << " " << option.name;
        continue;
      }
      const Json& value = resolved[option.name];
      if (value.is_number())
        EXPECT_EQ(std::stod(option.fallback), value.get<double>()) << info.name << option.name;
      else
        EXPECT_EQ(option.fallback, value.is_string() ? value.get<std::string>() : value.dump());
    }
    // The first preset is the default and changes nothing.
    if (!list.presets.empty()) {
      EXPECT_TRUE(list.presets.front().changes.empty()) << info.name;
    }
  }
}

TEST(Registry, EveryPresetIsAccepted) {
  for (const auto& [info, resolve, make, list_options] : known_methods())
    for (const reuse::PresetInfo& preset : list_options().presets) {
      const Fields given = {{"preset", preset.name}};
      const Fields resolved = resolve_options(info.name, JsonObject(given, "preset"));
      for (const auto& [name, value] : preset.changes)
        EXPECT_TRUE(resolved.at(name) == value) << name;
      EXPECT_EQ(make_method(info.name, given)->info().name, info.name);
    }
}

TEST(Registry, EveryOptionRefusesWhatItDoesNotAccept) {
  for (const auto& [info, resolve, make, list_options] : known_methods())
    for (const reuse::OptionInfo& option : list_options().options)
      for (const Json& bad : {Json("x"), Json(-1e9), Json::array()}) {
        if (bad.is_string() && option.accepted == "a path") continue;
        const Fields given = {{option.name, value_of(bad)}};
        expect_error([&] { make_method(info.name, given); }, {info.name, option.name});
      }
}

// The checkpoint is of a decoder that was saved without its head, for sentence vectors.
TEST(Registry, ADecoderWithoutAHeadIsLoadedButGeneratesNothing) {
  const model::TempDir dir;
  dir.write("config.json", model::tiny_llama_config().dump());
  dir.write("model.safetensors", model::safetensors_of(model::headless_llama_tensors()));
  const Context context = Context::machine();
  const auto decoder = model::load_decoder(dir.path().string(), {}, context);
  expect_error([&] { (void)generation_setup(*decoder, context, DType::kF32, 512, {}); },
               {dir.path().filename().string(), "no head", "lm_head.weight"});
}

TEST(Registry, EveryMethodStatesAPoolItsLimitsFitInto) {
  for (const auto& [info, resolve, make, list_options] : known_methods()) {
    if (!info.is_cache) {
      expect_error([name = info.name] { (void)make_cache(name, {}); },
                   {info.name, "more than a cache"});
      continue;
    }
    const reuse::PoolNeed need =
        make_cache(info.name, {})->pool_need({.max_batch = 3, .max_sequence_tokens = 100});
    EXPECT_GE(int64_t{need.block_tokens} * need.num_blocks, 300) << info.name;
  }
}

}  // namespace
}  // namespace reprise::methods
