// Tests modules that plain prompts import in any order.
#include <gtest/gtest.h>

#include <set>

#include "methods/registry.h"
#include "tests/methods/prompt_cache/prompt_cache_testing.h"
#include "tests/support/tiny_models.h"

namespace reprise::prompt_cache {
namespace {

using Ids = std::vector<int32_t>;

Ids joined(const std::vector<Ids>& parts) {
  Ids ids;
  for (const Ids& part : parts) ids.insert(ids.end(), part.begin(), part.end());
  return ids;
}

class AnyOrder : public ::testing::Test {
 protected:
  struct Answer {
    Ids tokens;
    int32_t imported = 0;
    friend bool operator==(const Answer&, const Answer&) = default;
  };

  // The prompt's answer by an engine with the method, prepared for this use. `rules` may be null.
  Answer answer(const Ids& prompt, const methods::Use& use, const Json& options = Json::object(),
                std::shared_ptr<const engine::TokenRules> rules = nullptr) {
    const auto method = methods::make_method("prompt_cache", fields_of(options));
    method->prepare(methods::generation_setup(*decoder_, context_, DType::kF32, 512, use));
    engine::EngineOptions engine_options;
    engine_options.limits.max_sequence_tokens = 100;
    auto cache = methods::join(method->parts(), engine_options);
    engine::Engine engine(context_, *decoder_, std::move(cache), engine_options);
    engine.submit(
        {.id = 0, .prompt = prompt, .max_new_tokens = 8, .sampling = {.rules = std::move(rules)}});
    Answer got;
    for (const engine::TokenEvent& event : engine.run()) {
      if (event.has_token()) got.tokens.push_back(event.token);
      got.imported = std::max(got.imported, event.cached_tokens);
    }
    return got;
  }
  Answer of_modules(const Ids& prompt, const Json& options = Json::object(),
                    std::shared_ptr<const engine::TokenRules> rules = nullptr) {
    return answer(prompt, {.modules = modules_}, options, std::move(rules));
  }

  Context context_{.threads = 2, .isa = best_isa()};
  std::unique_ptr<model::Decoder> decoder_ =
      testing::random_decoder(testing::scaled_down("llama-2-7b"), context_);
  const std::vector<Ids> modules_ = {some_ids(7, 1), some_ids(5, 2), some_ids(9, 3)};
  const Ids &x_ = modules_[0], &y_ = modules_[1], &z_ = modules_[2];
  const Ids own_ = some_ids(4, 8);
};

// Modules in the schema's order equal a prefix that is made of as many pieces: the positions are
// the same.
TEST_F(AnyOrder, TheSchemasOrderIsAPrefixOfPieces) {
  const std::vector<methods::Prefix> prefix = {modules_};
  for (const char* mode : {"isolated", "joint", "repair"}) {
    const Ids prompt = joined({x_, y_, z_, own_});
    const Answer want = answer(prompt, {.prefixes = prefix}, {{"mode", mode}});
    EXPECT_EQ(want.imported, 21);
    EXPECT_EQ(of_modules(prompt, {{"mode", mode}}), want) << mode;
  }
}

// A module keeps its positions, wherever in a prompt it stands.
TEST_F(AnyOrder, AnotherOrderImportsTheSameStates) {
  EXPECT_EQ(of_modules(joined({z_, x_, y_, own_})), of_modules(joined({x_, y_, z_, own_})));
}

TEST_F(AnyOrder, ImportsWhatAPromptBeginsWith) {
  EXPECT_EQ(of_modules(own_).imported, 0);
  EXPECT_EQ(of_modules(joined({own_, x_})).imported, 0);
  EXPECT_EQ(of_modules(joined({y_, own_})).imported, 5);
  EXPECT_EQ(of_modules(joined({z_, x_, own_, y_})).imported, 16);
  EXPECT_EQ(of_modules(joined({x_, x_, own_})).imported, 7);  // the second time it is computed
  EXPECT_EQ(of_modules(joined({z_, y_})).imported, 9);        // the last token is never imported
  EXPECT_EQ(of_modules(y_).imported, 0);
  EXPECT_FALSE(of_modules(joined({y_, own_})).tokens.empty());
}

// The schema's first module begins at position 0, so a prompt that imports it alone has the
// positions of a plain prompt.
TEST_F(AnyOrder, OneModuleAtTheBeginningIsExact) {
  const Answer got = of_modules(joined({x_, own_}));
  EXPECT_EQ(got.imported, 7);
  EXPECT_EQ(got.tokens, answer(joined({x_, own_}), {}).tokens);
}

// The penalty counts imported tokens, too. About half of the allowed tokens are imported.
TEST_F(AnyOrder, ARepetitionPenaltyActsAsWithoutImports) {
  const Ids known = joined({x_, y_, z_});
  const std::set<int32_t> allowed(known.begin(), known.end());
  const auto rules = std::make_shared<const engine::TokenRules>(engine::TokenRules{
      .allowed = Ids(allowed.begin(), allowed.end()), .repetition_penalty = 5.0});
  const Ids prompt = joined({x_, own_});
  const Answer got = of_modules(prompt, Json::object(), rules);
  EXPECT_EQ(got.imported, 7);
  EXPECT_EQ(got.tokens, answer(prompt, {}, Json::object(), rules).tokens);
}

TEST_F(AnyOrder, TheLongestOfTwoThatFitIsImported) {
  Ids longer = x_;
  longer.push_back(own_[0]);
  const std::vector<Ids> both = {x_, longer};
  EXPECT_EQ(answer(joined({longer, own_}), {.modules = both}).imported, 8);
}

}  // namespace
}  // namespace reprise::prompt_cache
