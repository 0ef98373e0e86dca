// Tests exact methods on real shared prompts: variants of a deployed system prompt, and questions
// behind the same five examples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "core/base/json.h"
#include "core/tokenizer/tokenizer.h"
#include "tests/methods/exact_method_cases.h"
#include "tests/support/data.h"
#include "tests/support/json.h"
#include "tests/support/run_model.h"

namespace reprise::methods {
namespace {

using testing::Arrival;
using testing::data_dir;
using testing::MethodUnderTest;

using Tokens = std::vector<int32_t>;
using Texts = std::vector<std::string>;

// Cuts of three variants of a system prompt around the place where the first two begin to differ;
// the third differs earlier. A fourth text breaks off the first one and goes on otherwise.
Texts system_prompts(size_t before, size_t after) {
  const auto folder = data_dir() / "prompts" / "gemini-cli";
  const std::string first = read_file(folder / "01.txt");
  Texts texts;
  for (const char* name : {"01.txt", "02.txt", "04.txt"}) {
    const std::string text = read_file(folder / name);
    constexpr size_t kParting = 17197;  // position at which 02 begins to differ from 01
    texts.push_back(text.substr(kParting - before, before + after));
  }
  texts.push_back(texts[0].substr(0, before + after / 2) + " And then?");
  return texts;
}

// The fields of a CSV line, without quotes.
Texts columns_of(const std::string& line) {
  Texts fields(1);
  bool is_quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[i++];
    else if (line[i] == '"')
      is_quoted = !is_quoted;
    else if (line[i] == ',' && !is_quoted)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  return fields;
}

// Questions in MMLU's template: question, four choices, answer.
std::vector<std::string> questions(const std::string& split, bool with_answer, size_t count) {
  std::ifstream file(data_dir() / "datasets" / "mmlu" / split / ("anatomy_" + split + ".csv"));
  EXPECT_TRUE(file) << split;
  std::string line;
  std::getline(file, line);
  Texts texts;
  while (texts.size() < count && std::getline(file, line)) {
    const Texts fields = columns_of(line);
    std::string text = fields.at(0);
    for (size_t choice = 0; choice < 4; ++choice)
      text += std::string("\n") + static_cast<char>('A' + choice) + ". " + fields.at(choice + 1);
    text += "\nAnswer:";
    if (with_answer) text += std::string(" ") + static_cast<char>('A' + fields.at(5)[0] - '0');
    texts.push_back(text + "\n\n");
  }
  EXPECT_EQ(texts.size(), count);
  return texts;
}

Texts five_shot_prompts(size_t most_bytes) {
  std::string examples;
  for (const std::string& example : questions("dev", true, 5)) examples += example;
  if (examples.size() > most_bytes) examples = examples.substr(examples.size() - most_bytes);
  Texts texts;
  for (const std::string& question : questions("test", false, 5))
    texts.push_back(examples + question.substr(0, question.size() - 2));
  return texts;
}

struct TextScene {
  Tokens prefix;  // what the first two prompts have in common, as a user would declare it
  std::vector<Arrival> arrivals;
};

Tokens common_head(const Tokens& a, const Tokens& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return {a.begin(), end};
}

template <typename Encode>
TextScene make_scene(const Texts& texts, int32_t new_tokens, Encode&& encode) {
  TextScene scene;
  for (size_t i = 0; i < texts.size(); ++i) {
    engine::Request request{.id = static_cast<reuse::RequestId>(i) + 1,
                            .prompt = encode(texts[i]),
                            .max_new_tokens = new_tokens + static_cast<int32_t>(i)};
    scene.prefix = i == 0   ? request.prompt
                   : i == 1 ? common_head(scene.prefix, request.prompt)
                            : scene.prefix;
    scene.arrivals.push_back({static_cast<int32_t>(2 * i), std::move(request)});
  }
  return scene;
}

// The bytes of a text as token ids, for models without a tokenizer.
Tokens bytes_of(const std::string& text) {
  Tokens tokens;
  for (char c : text) tokens.push_back(static_cast<unsigned char>(c) + 3);
  return tokens;
}

using Generated = std::map<reuse::RequestId, Tokens>;

Generated generate(model::Decoder& decoder, const MethodUnderTest& method, const TextScene& scene,
                   const Context& context, DType kv_dtype, int32_t batch) {
  const testing::BatchRun run = testing::run_requests(decoder, method, scene.arrivals, batch, 100,
                                                      context, kv_dtype, {scene.prefix});
  const bool shares =
      method.options.value("reuse_prefill", false) || method.name == "relay_attention";
  if (shares && batch > 1) {
    EXPECT_GE(run.metrics.at("reused_tokens"), 64) << method.label();
  }
  return run.tokens;
}

const std::vector<MethodUnderTest>& shortlist() {
  static const std::vector<MethodUnderTest> methods = {
      {"paged"},
      {"paged", Json::parse(R"({"version": 2, "partition_tokens": 64})")},
      {"paged_shared", Json::parse(R"({"reuse_prefill": true})")},
      {"chunk_attention"},
      {"chunk_attention", Json::parse(R"({"reuse_prefill": true, "chunk_tokens": 32})")},
      {"chunk_attention", Json::parse(R"({"preset": "as_coded"})")},
      {"relay_attention"}};
  return methods;
}

std::vector<TextScene> scenes_for(const std::string& model) {
  if (model == "quickstart") {
    const auto tokenizer =
        load_tokenizer(std::filesystem::path(REPRISE_SOURCE_DIR) / "models" / "quickstart");
    const auto encode = [&](const std::string& text) { return tokenizer->encode(text); };
    return {make_scene(system_prompts(500, 200), 12, encode),
            make_scene(five_shot_prompts(600), 12, encode)};
  }
  return {make_scene(system_prompts(250, 80), 8, bytes_of),
          make_scene(five_shot_prompts(200), 8, bytes_of)};
}

std::filesystem::path folder_of(const std::string& model) {
  return model == "quickstart" ? std::filesystem::path(REPRISE_SOURCE_DIR) / "models" / model
                               : data_dir() / "golden" / model;
}

class RealPrompts : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { REPRISE_NEEDS_DATA(); }
  Context context_ = Context::machine();
};

TEST_P(RealPrompts, SameTokensAsContiguousInF32) {
  auto decoder = model::load_decoder(folder_of(GetParam()), {.dtype = DType::kF32}, context_);
  for (const TextScene& scene : scenes_for(GetParam())) {
    const Generated want = generate(*decoder, {"contiguous"}, scene, context_, DType::kF32, 1);
    for (const MethodUnderTest& method : shortlist())
      EXPECT_EQ(generate(*decoder, method, scene, context_, DType::kF32, 4), want)
          << method.label();
  }
}

// Judges the first token at which two bf16 runs differ: the two candidate tokens must be equal
// except for rounding. Each logit differs from its f32 value by at most the largest deviation D of
// the model in bf16 on this text, which is measured here. So the two tokens' f32 logits differ by
// at most 2 D; a factor 1.5 allows for another set of roundings (see golden_test.cpp).
class Bf16Judge {
 public:
  Bf16Judge(model::Decoder& f32, model::Decoder& bf16) : f32_(f32), bf16_(bf16) {}

  void compare(const engine::Request& request, const Tokens& want, const Tokens& got,
               const std::string& what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    ++compared_;
    const auto parted = static_cast<size_t>(
        std::mismatch(want.begin(), want.end(), got.begin()).first - want.begin());
    if (parted == want.size()) return;
    ++diverged_;
    Tokens text = request.prompt;
    text.insert(text.end(), want.begin(), want.begin() + static_cast<std::ptrdiff_t>(parted));
    const auto rows = static_cast<int32_t>(text.size());
    const std::vector<float> exact = testing::all_logits(f32_, text, rows);
    const std::vector<float> rounded = testing::all_logits(bf16_, text, rows, DType::kBF16);
    float deviation = 0.0f;
    for (size_t i = 0; i < exact.size(); ++i)
      deviation = std::max(deviation, std::abs(exact[i] - rounded[i]));
    const float* last = exact.data() + exact.size() - f32_.config().vocab;
    const float gap = std::abs(last[want[parted]] - last[got[parted]]);
    largest_share_ = std::max(largest_share_, gap / (2.0f * deviation));
    EXPECT_LE(gap, 1.5f * 2.0f * deviation)
        << what << " request " << request.id << " parts at token " << parted;
  }
  void show(const std::string& model) const {
    std::cout << model << " in bf16: " << diverged_ << " of " << compared_
              << " generations part from contiguous, the largest f32 gap there is "
              << largest_share_ << " of twice the measured deviation\n";
  }
  [[nodiscard]] int diverged() const { return diverged_; }

 private:
  model::Decoder& f32_;
  model::Decoder& bf16_;
  int compared_ = 0, diverged_ = 0;
  float largest_share_ = 0.0f;
};

TEST_P(RealPrompts, Bf16PartsFromContiguousAtNearTiesOnly) {
  auto f32 = model::load_decoder(folder_of(GetParam()), {.dtype = DType::kF32}, context_);
  auto bf16 = model::load_decoder(folder_of(GetParam()), {.dtype = DType::kBF16}, context_);
  Bf16Judge judge(*f32, *bf16);
  for (const TextScene& scene : scenes_for(GetParam())) {
    const Generated want = generate(*bf16, {"contiguous"}, scene, context_, DType::kBF16, 1);
    for (const MethodUnderTest& method : shortlist()) {
      const Generated got = generate(*bf16, method, scene, context_, DType::kBF16, 4);
      for (const Arrival& arrival : scene.arrivals)
        judge.compare(arrival.request, want.at(arrival.request.id), got.at(arrival.request.id),
                      method.label());
    }
  }
  judge.show(GetParam());
  RecordProperty("diverged", judge.diverged());
}

INSTANTIATE_TEST_SUITE_P(Models, RealPrompts,
                         ::testing::Values("llama-mha", "llama-gqa", "falcon-7b-style",
                                           "mpt-7b-style", "quickstart"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace reprise::methods
