// Tests the reuse of attention maps on a device: kinds "prefill", "sentences" and "attention_maps"
// are compared with the same runs on the CPU.
#include <gtest/gtest.h>

#include "experiments/framework/experiment_file.h"
#include "experiments/framework/sweep.h"
#include "experiments/kinds/registry.h"
#include "tests/core/kernels/device/cuda/device_context.h"
#include "tests/core/sentence/sentence_testing.h"
#include "tests/experiments/kinds/shared/measured_value.h"
#include "tests/support/json.h"
#include "tests/support/measured.h"

namespace reprise::experiments {
namespace {

Json attn_cache(const Json& options) { return {{"name", "attn_cache"}, {"options", options}}; }

class CudaPrefillKind : public testing::OnDevice {
 protected:
  CudaPrefillKind() {
    sentence::write_sentence_model(bert_);
    bert_.write("config.json", R"({"model_type": "bert", "vocab_size": 20, "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48,
      "max_position_embeddings": 24, "type_vocab_size": 2, "torch_dtype": "float32"})");
    bert_.write("pairs.tsv", "5\ta b\tb a\n3\ta c\tc d\n1\th\tg\n4\tb b\tb d\n");
  }
  static Context host() { return {.threads = 1, .isa = best_isa()}; }
  // A kind's measurements on the device, or on the CPU.
  std::vector<Measured> measure(const Json& changes, bool is_on_device = true) const {
    Json file = {{"name", "t"}, {"title", "t"}, {"dtypes", {"bf16"}}, {"repetitions", 1}};
    file.update(changes);
    const Context context = is_on_device ? context_ : host();
    const Experiment experiment = parse_experiment(file, "t.json", "desk", {}, known_vocabulary());
    const Group group = expand(experiment, {.context = context, .device = context.device}).at(0);
    const auto kind = make_kind(changes["kind"], context);
    kind->check(group);
    const std::atomic<bool> stop = false;
    return measured_json(kind->measure(group, Machine(), stop));
  }
  // `key` is "methods" or "series": under which of these the kind takes `listed`.
  [[nodiscard]] Json texts(const char* kind, const char* key, const Json& listed) const {
    return {{"kind", kind},
            {"models", {{{"model", bert_.path().string()}, {"weights", "random"}}}},
            {key, listed},
            {"workload",
             {{"name", "sentence_pairs"}, {"file", (bert_.path() / "pairs.tsv").string()}}}};
  }

  model::TempDir bert_;
};

// A stored map, in whatever form, replaces the queries and keys from which it was computed.
TEST_F(CudaPrefillKind, StoredTextsHitAndAreComputedAsInFull) {
  const auto stored_as = [](const char* form) {
    return attn_cache({{"preset", "raw"}, {"map_form", form}, {"threshold", 1.0 - 1e-6}});
  };
  const Json file = {
      {"kind", "prefill"},
      {"models", {{{"model", REPRISE_SOURCE_DIR "/models/quickstart"}, {"weights", "random"}}}},
      {"methods",
       {"compute",
        "maps",
        stored_as("f32"),
        stored_as("bf16"),
        stored_as("u8"),
        "lazy_former",
        {{"name", "attn_drop"}, {"options", {{"dropped", 1}}}}}},
      {"settings", {{"prompt_tokens", 24}, {"asked_texts", 2}, {"database_texts", 2}}}};
  const auto got = measure(file), want = measure(file, false);
  ASSERT_EQ(got.size(), want.size());
  for (size_t m = 1; m < got.size(); ++m) {
    // A difference has two outputs below 8, each of which the device rounds to bf16: 2^-8 of 8. A
    // CPU with AVX512-BF16 rounds them too, in another order. What a method itself changes is of
    // the same size.
    EXPECT_NEAR(value_of(got[m], "max_difference"), value_of(want[m], "max_difference"),
                0x1p-8 * 8 + 0.05 * value_of(want[m], "max_difference"))
        << m;
    EXPECT_GT(value_of(got[m], "attention_ms"), 0) << m;
  }
  for (size_t m = 2; m < 5; ++m) EXPECT_EQ(value_of(got[m], "hit_rate"), 1) << m;
  EXPECT_EQ(got[6].resolved["dropped_layers"], want[6].resolved["dropped_layers"]);
}

TEST_F(CudaPrefillKind, TextsAreReadAsOnTheCpu) {
  const Json file = texts("sentences", "methods", {"compute", "maps", "lazy_former"});
  const auto got = measure(file), want = measure(file, false);
  ASSERT_EQ(got.size(), want.size());
  for (size_t m = 1; m < got.size(); ++m)
    EXPECT_NEAR(value_of(got[m], "vector_cosine"), value_of(want[m], "vector_cosine"), 1e-3) << m;
}

// The two texts of a pair differ in length. Only texts that are as long as a text of the stored
// pair hit.
TEST_F(CudaPrefillKind, TextsThatHitBesideMissesAreComputed) {
  bert_.write("pairs.tsv", "5\ta\tb c\n3\td e\tf g h\n1\ta b c\th\n");
  const Json raw = {{"preset", "raw"}, {"threshold", -1000.0}, {"lengths", "same"}};
  Json file = texts("sentences", "methods", {"compute", attn_cache(raw)});
  file["settings"] = {{"database_share", 0.3}, {"texts_per_step", 0}};
  const auto got = measure(file);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].resolved["attn_cache"]["hits"], 2);
  EXPECT_EQ(got[1].resolved["attn_cache"]["hits_beside_misses"], 2);
  EXPECT_EQ(value_of(got[1], "hit_rate"), 0);
  EXPECT_NEAR(value_of(got[1], "vector_cosine"), 1, 1e-12);
}

TEST_F(CudaPrefillKind, MapsAreAsAlikeAsOnTheCpu) {
  const Json file = texts("attention_maps", "series", {"pairs", "uniform"});
  const auto got = measure(file), want = measure(file, false);
  ASSERT_EQ(got.size(), want.size());
  for (size_t m = 0; m < got.size(); ++m)
    EXPECT_NEAR(value_of(got[m], "map_distance"), value_of(want[m], "map_distance"), 2e-3) << m;
}

}  // namespace
}  // namespace reprise::experiments
