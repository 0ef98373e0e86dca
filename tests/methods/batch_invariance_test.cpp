// In a batch-invariant engine, a sequence's logits have the same bits alone, beside others, with
// its states found in the cache, and with its prompt cut anywhere.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <random>

#include "core/base/error.h"
#include "tests/methods/exact_method_cases.h"
#include "tests/support/tiny_models.h"

namespace reprise::methods {
namespace {

using testing::Arrival;
using testing::MethodUnderTest;

using Tokens = std::vector<int32_t>;
using Rows = std::vector<std::vector<float>>;  // logits of each token, or of each drawn one

constexpr reuse::RequestId kWatched = 1000;
constexpr int32_t kNewTokens = 9;

Tokens random_prompt(std::mt19937_64& random, int32_t count) {
  Tokens tokens;
  for (int32_t i = 0; i < count; ++i)
    tokens.push_back(std::uniform_int_distribution<int32_t>(2, 96)(random));
  return tokens;
}

// `watched` joins in step 3 beside `others` sequences of all lengths up to 300. Some of the others
// begin like `watched`, and sequence 1 is equal to it and is computed before.
std::vector<Arrival> crowd_of(const Tokens& watched, int32_t others,
                              engine::LogitsMode mode = engine::LogitsMode::kDrawn) {
  std::mt19937_64 random(7);
  std::vector<Arrival> arrivals;
  for (int32_t id = 1; id <= others; ++id) {
    Tokens prompt = random_prompt(random, 1 + id * 37 % 300);
    if (id % 3 == 0) {
      const auto common = static_cast<std::ptrdiff_t>(watched.size()) * (id % 4) / 4;
      prompt.insert(prompt.begin(), watched.begin(), watched.begin() + common);
    }
    if (id == 1) prompt = watched;
    arrivals.push_back({id <= others / 2 ? 0 : id % 6 + 2,
                        {.id = id, .prompt = std::move(prompt), .max_new_tokens = 3 + id % 17}});
  }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.step < b.step; });
  const auto place = std::find_if(arrivals.begin(), arrivals.end(),
                                  [](const Arrival& arrival) { return arrival.step > 3; });
  arrivals.insert(
      place,
      {3, {.id = kWatched, .prompt = watched, .max_new_tokens = kNewTokens, .logits = mode}});
  return arrivals;
}

struct Watch {
  model::Decoder& decoder;
  const Context& context;
  DType kv_dtype;
  int32_t num_blocks = 0;  // of the engine's pool; 0: as many as its method needs

  // Logits of the watched request, as it asks for them. Adds the number of preemptions.
  [[nodiscard]] Rows logits(const MethodUnderTest& method, const std::vector<Arrival>& arrivals,
                            int32_t chunk, int32_t* preempted = nullptr) const {
    engine::EngineOptions options{
        .kv_dtype = kv_dtype, .step_tokens = chunk, .num_blocks = num_blocks};
    options.limits.max_batch = static_cast<int32_t>(arrivals.size());
    for (const Arrival& arrival : arrivals)
      options.limits.max_sequence_tokens = std::max(
          options.limits.max_sequence_tokens,
          static_cast<int32_t>(arrival.request.prompt.size()) + arrival.request.max_new_tokens);
    engine::Engine engine(context, decoder, methods::make_cache(method.name, method.options),
                          options);
    Rows rows;
    engine.observe_logits([&](const engine::LogitsRow& row) {
      if (row.request == kWatched) rows.emplace_back(row.logits.begin(), row.logits.end());
    });
    const int32_t given_up = testing::run_requests(engine, arrivals).preempted;
    if (preempted != nullptr) *preempted += given_up;
    return rows;
  }
  // Logits of all tokens of a prompt and of what follows it.
  [[nodiscard]] Rows alone(const Tokens& prompt, int32_t chunk = 512) const {
    return logits({"contiguous"}, crowd_of(prompt, 0, engine::LogitsMode::kAll), chunk);
  }
};

Rows drawn_of(const Rows& all) { return {all.end() - kNewTokens, all.end()}; }

std::vector<MethodUnderTest> invariant_methods() {
  return {{"contiguous"},
          {"paged", Json::parse(R"({"block_tokens": 8})")},
          {"paged_shared", Json::parse(R"({"block_tokens": 16, "reuse_prefill": true})")},
          {"auto", Json::parse(R"({"chunk_tokens": 16})")},
          {"auto", Json::parse(R"({"chunk_tokens": 48, "reuse_prefill": true, "retain": true})")}};
}

struct SmallModel {
  const char* shape;
  int64_t head_dim;
};

class BatchInvariant : public ::testing::TestWithParam<SmallModel> {};

TEST_P(BatchInvariant, LogitsHaveTheSameBitsAloneAndInAnyBatch) {
  std::mt19937_64 random(1);
  const Tokens watched = random_prompt(random, 277);
  for (const DType dtype : {DType::kBF16, DType::kF32})
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512Bf16, Isa::kAmx}) {
      if (isa > best_isa()) continue;
      const Context context{.threads = 2, .isa = isa, .is_batch_invariant = true};
      const auto decoder = testing::random_decoder(
          testing::scaled_down(GetParam().shape, GetParam().head_dim), context, dtype);
      const Watch watch{*decoder, context, dtype};
      const Rows want = watch.alone(watched);
      ASSERT_EQ(want.size(), watched.size() + kNewTokens - 1);
      const std::string where = fmt::format("{} {}", name_of(dtype), name_of(isa));
      for (const int32_t chunk : {1, 13, 100})
        EXPECT_TRUE(watch.alone(watched, chunk) == want) << where << " chunks of " << chunk;
      for (const MethodUnderTest& method : invariant_methods())
        EXPECT_TRUE(watch.logits(method, crowd_of(watched, 20), 100) == drawn_of(want))
            << where << " " << method.label();
    }
}

INSTANTIATE_TEST_SUITE_P(
    Models, BatchInvariant,
    ::testing::Values(SmallModel{"llama-2-7b", 20}, SmallModel{"llama-3-8b", 32},
                      SmallModel{"llama-3-8b", 64}, SmallModel{"falcon-7b", 64},
                      SmallModel{"mpt-7b", 32}, SmallModel{"mistral-7b", 32},
                      SmallModel{"qwen1.5-moe-a2.7b", 32}),
    [](const auto& param) {
      std::string name = fmt::format("{}_heads_of_{}", param.param.shape, param.param.head_dim);
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

// Without batch invariance, a sequence of more than 2048 tokens that runs alone is split along its
// keys.
TEST(BatchInvariance, HoldsForLongSequencesAndLargeBatches) {
  std::mt19937_64 random(2);
  const Tokens watched = random_prompt(random, 2500);
  Context context = Context::machine();
  context.is_batch_invariant = true;
  const auto decoder =
      testing::random_decoder(testing::scaled_down("llama-3-8b", 64), context, DType::kBF16);
  const Watch watch{*decoder, context, DType::kBF16};
  EXPECT_TRUE(watch.logits(invariant_methods().back(), crowd_of(watched, 63), 512) ==
              drawn_of(watch.alone(watched)));
}

// The shipped model, with weights of `format` if that is given.
std::unique_ptr<model::Decoder> shipped_model(const Context& context,
                                              std::optional<WeightFormat> format = {}) {
  const auto folder = std::filesystem::path(REPRISE_SOURCE_DIR) / "models" / "quickstart";
  return model::load_decoder(folder, {.dtype = DType::kBF16, .weight_format = format}, context);
}

TEST(BatchInvariance, HoldsForWeightsHeldAsCodes) {
  std::mt19937_64 random(5);
  const Tokens watched = random_prompt(random, 150);
  Context context = Context::machine();
  context.is_batch_invariant = true;
  for (const WeightFormat format : {WeightFormat::kInt8, WeightFormat::kInt4}) {
    const auto decoder = shipped_model(context, format);
    const Watch watch{*decoder, context, DType::kBF16};
    const Rows want = watch.alone(watched);
    EXPECT_TRUE(watch.alone(watched, 1) == want) << name_of(format);
    EXPECT_TRUE(watch.logits(invariant_methods().back(), crowd_of(watched, 20), 512) ==
                drawn_of(want))
        << name_of(format);
  }
}

// Without the context's promise, bf16's bits change beside others and with the chunks.
TEST(BatchInvariance, OfTheShippedModelHoldsWithTheContextsPromiseAndNotWithoutIt) {
  if (!has_bf16_dot(best_isa())) GTEST_SKIP() << "needs the kernels of AVX512-BF16";
  std::mt19937_64 random(1);
  const Tokens watched = random_prompt(random, 277);
  for (const bool is_promised : {false, true}) {
    Context context = Context::machine();
    context.is_batch_invariant = is_promised;
    const auto decoder = shipped_model(context);
    const Watch watch{*decoder, context, DType::kBF16};
    const Rows want = watch.alone(watched);
    EXPECT_EQ(watch.logits({"contiguous"}, crowd_of(watched, 20), 512) == drawn_of(want),
              is_promised);
    EXPECT_EQ(watch.alone(watched, 1) == want, is_promised);
  }
}

// The states of preempted sequences are computed anew, in other steps than before.
TEST(BatchInvariance, HoldsWherePreemptedSequencesAreComputedAgain) {
  std::mt19937_64 random(4);
  const Tokens watched = random_prompt(random, 277);
  Context context = Context::machine();
  context.is_batch_invariant = true;
  const auto decoder =
      testing::random_decoder(testing::scaled_down("llama-3-8b", 64), context, DType::kBF16);
  const Watch watch{*decoder, context, DType::kBF16, /*num_blocks=*/130};
  int32_t preempted = 0;
  const Rows rows = watch.logits({"paged", Json::parse(R"({"block_tokens": 8})")},
                                 crowd_of(watched, 20), 512, &preempted);
  EXPECT_GT(preempted, 0);
  EXPECT_TRUE(rows == drawn_of(Watch{*decoder, context, DType::kBF16}.alone(watched)));
}

TEST(BatchInvariance, IsRefusedToCachesThatShareReads) {
  Context context = Context::machine();
  context.is_batch_invariant = true;
  const auto decoder = testing::random_decoder(testing::scaled_down("llama-2-7b"), context);
  for (const MethodUnderTest& method : testing::exact_method_cases()) {
    const bool takes_it = method.name != "chunk_attention" && method.name != "relay_attention" &&
                          method.options.value("version", 1) == 1;
    const Watch watch{*decoder, context, DType::kF32};
    const auto make = [&] { (void)watch.logits(method, crowd_of({5, 6, 7}, 2), 512); };
    if (takes_it) {
      EXPECT_NO_THROW(make()) << method.label();
    } else {
      EXPECT_THROW(make(), Error) << method.label();
    }
  }
}

// A preempted sequence would be computed again at another length, and so with other angles.
TEST(BatchInvariance, IsRefusedToModelsWhoseAnglesDependOnTheLength) {
  Json config = testing::scaled_down("llama-2-7b");
  config["rope_scaling"] = {{"type", "dynamic"}, {"factor", 2.0}};
  EXPECT_NO_THROW((void)testing::random_decoder(config, {}));
  EXPECT_THROW((void)testing::random_decoder(config, {.is_batch_invariant = true}), Error);
}

// A prefix that is kept ends within a block, and would be read apart from what follows.
TEST(BatchInvariance, IsRefusedToSequencesThatAreReadInParts) {
  Context context = Context::machine();
  context.is_batch_invariant = true;
  const auto decoder = testing::random_decoder(testing::scaled_down("llama-2-7b"), context);
  std::mt19937_64 random(3);
  const Tokens prefix = random_prompt(random, 20);
  Tokens prompt = prefix;
  prompt.insert(prompt.end(), {4, 5, 6});
  EXPECT_THROW((void)testing::run_requests(*decoder, {"auto"}, {{0, {.id = 1, .prompt = prompt}}},
                                           2, 512, context, DType::kF32, {prefix}),
               Error);
}

TEST(BatchInvariance, IsRefusedToRequestsWithGapsInTheirPositions) {
  const Context context{.threads = 1, .isa = best_isa(), .is_batch_invariant = true};
  const auto decoder = testing::random_decoder(testing::scaled_down("llama-2-7b"), context);
  for (const MethodUnderTest& method : invariant_methods()) {
    engine::Engine engine(context, *decoder, methods::make_cache(method.name, method.options),
                          {.limits = {.max_batch = 4, .max_sequence_tokens = 8}});
    const Tokens prompt = {5, 6, 7};
    const std::vector<engine::Request> requests = {
        {.id = 1, .prompt = prompt, .max_new_tokens = 3},
        {.id = 2, .prompt = prompt, .positions = {3, 4, 5}, .max_new_tokens = 3},
        {.id = 3, .prompt = prompt, .positions = {0, 1, 5}, .max_new_tokens = 3},
        {.id = 4, .prompt = prompt, .least_length = 4, .max_new_tokens = 3}};
    for (const engine::Request& request : requests) engine.submit(request);
    for (const engine::TokenEvent& event : engine.run()) {
      if (event.finish == engine::FinishReason::kNone) continue;
      const bool is_refused = event.finish == engine::FinishReason::kRefused;
      EXPECT_EQ(is_refused, event.request > 2) << method.label() << " request " << event.request;
      if (is_refused) {
        EXPECT_NE(event.reason.find("positions"), std::string::npos) << event.reason;
      }
    }
  }
}

}  // namespace
}  // namespace reprise::methods
