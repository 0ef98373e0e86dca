// Tests when an engine calls a request shaper, and how it treats the tokens that the shaper
// imports.
#include "core/engine/request_shaper.h"

#include <gtest/gtest.h>

#include <set>

#include "core/engine/engine.h"
#include "methods/registry.h"
#include "tests/support/counting_decoder.h"
#include "tests/support/json.h"

namespace reprise::engine {
namespace {

using testing::counting_from;
using testing::CountingDecoder;
using testing::ends_of;
using testing::tokens_of;

// Imports all but the last `left` tokens of each prompt.
class Importer final : public RequestShaper {
 public:
  explicit Importer(size_t left) : left_(left) {}
  void shape(Request& request) override {
    if (request.id == failing) raise("nothing to import for {}", request.id);
    const auto taken = static_cast<std::ptrdiff_t>(request.prompt.size() - left_);
    request.prompt.erase(request.prompt.begin(), request.prompt.begin() + taken);
    request.imported_tokens = static_cast<int32_t>(taken);
    EXPECT_TRUE(shaped.insert(request.id).second) << request.id << " twice";
  }
  void done(RequestId id) override { EXPECT_EQ(shaped.erase(id), 1u) << id; }
  [[nodiscard]] bool imports_prefixes() const override { return true; }

  std::set<RequestId> shaped;  // requests that were shaped and are not done
  RequestId failing = -1;

 private:
  size_t left_;
};

class Shaping : public ::testing::Test {
 protected:
  Engine make(const char* method = "paged", int32_t max_sequence_tokens = 30) {
    EngineOptions options;
    options.limits = {.max_batch = 2, .max_sequence_tokens = max_sequence_tokens};
    options.shaper = importer_;
    return {context_, decoder_, methods::make_cache(method, {}), options};
  }
  Context context_{.threads = 1, .isa = best_isa()};
  CountingDecoder decoder_;
  std::shared_ptr<Importer> importer_ = std::make_shared<Importer>(3);
};

TEST_F(Shaping, WhatIsImportedIsNotComputedAndCountsAsCached) {
  Engine engine = make();
  engine.submit({.id = 1, .prompt = counting_from(1, 20), .max_new_tokens = 2});
  EXPECT_EQ(importer_->shaped.size(), 1u);
  const auto ends = ends_of(engine.run());
  EXPECT_EQ(ends.at(1).cached_tokens, 17);
  EXPECT_EQ(decoder_.rows, (std::vector<int32_t>{3, 1}));
  EXPECT_TRUE(importer_->shaped.empty());
}

// Token 4 follows token 3. It occurs in the part of the prompt that is imported, so the penalty
// makes it less likely than token 20.
TEST_F(Shaping, ARepetitionPenaltyCountsWhatIsImported) {
  const auto rules = std::make_shared<const TokenRules>(
      TokenRules{.bias = {{20, 0.5f}}, .repetition_penalty = 5.0});
  Engine engine = make();
  engine.submit(
      {.id = 1, .prompt = {4, 5, 6, 1, 2, 3}, .max_new_tokens = 1, .sampling = {.rules = rules}});
  EXPECT_EQ(tokens_of(engine.run()).at(1), (std::vector<int32_t>{20}));
}

TEST_F(Shaping, EveryEndIsToldOnce) {
  {
    Engine engine = make();
    for (const RequestId id : {1, 2, 3, 4, 5})
      engine.submit({.id = id, .prompt = counting_from(1, 9), .max_new_tokens = 20});
    engine.submit({.id = 6, .prompt = counting_from(1, 9), .max_new_tokens = 28});  // too long
    EXPECT_EQ(importer_->shaped, (std::set<RequestId>{1, 2, 3, 4, 5}));
    (void)engine.step();
    EXPECT_TRUE(engine.cancel(1));  // runs
    EXPECT_TRUE(engine.cancel(4));  // waits
    (void)engine.step();
    EXPECT_EQ(importer_->shaped, (std::set<RequestId>{2, 3, 5}));
  }
  EXPECT_TRUE(importer_->shaped.empty()) << "the engine ended with requests";
}

TEST_F(Shaping, ARequestThatCannotBeShapedIsNotTaken) {
  Engine engine = make();
  importer_->failing = 2;
  EXPECT_THROW(engine.submit({.id = 2, .prompt = counting_from(1, 9), .max_new_tokens = 2}), Error);
  EXPECT_FALSE(engine.has_work());
  importer_->failing = -1;
  engine.submit({.id = 2, .prompt = counting_from(1, 9), .max_new_tokens = 2});
  EXPECT_EQ(ends_of(engine.run()).size(), 1u);
}

TEST_F(Shaping, PrefixesThatAreImportedAreNamedAndNotComputed) {
  Engine engine = make("relay_attention", 10);
  engine.declare_prefix("system", counting_from(1, 20));  // longer than a sequence may be
  EXPECT_FALSE(engine.has_work());
  ASSERT_EQ(engine.prefixes().size(), 1u);
  EXPECT_TRUE(engine.prefixes()[0].is_ready);
  engine.drop_prefix("system");
  EXPECT_EQ(decoder_.steps, 0);
}

}  // namespace
}  // namespace reprise::engine
