// Compares the trained sentence encoder that `./setup.sh --models` fetches with what its own
// library computes from the same files.
#include <gtest/gtest.h>

#include "core/sentence/embedder.h"
#include "experiments/kinds/sentences/sentence_sets.h"
#include "experiments/kinds/shared/places.h"
#include "tests/support/data.h"

namespace reprise::experiments {
namespace {

class MiniLm : public ::testing::Test {
 protected:
  void SetUp() override {
    REPRISE_NEEDS_DATA();
    folder_ = fetched_models_dir() / "all-MiniLM-L6-v2";
    if (!std::filesystem::exists(folder_ / "config.json"))
      GTEST_SKIP() << "all-MiniLM-L6-v2 is not there: run ./setup.sh --models";
  }

  // Spearman's correlation in percent, as in the references.
  [[nodiscard]] double percent(const char* file, DType dtype = DType::kF32) const {
    const auto tokenizer = load_tokenizer(folder_);
    const auto model = model::load_decoder(folder_.string(), {.dtype = dtype}, Context::machine());
    sentence::Embedder embedder(*model, *tokenizer,
                                sentence::settings_of(folder_.string(), model->config()));
    const auto path = testing::data_dir() / "datasets" / "sts" / file;
    const SentenceSet set = load_sentences({"sentence_pairs", path.string()}, {});
    return 100 * score_sentences(set, embedder.read(set.texts), embedder.width(), 1).value;
  }

  std::filesystem::path folder_;
};

TEST_F(MiniLm, AgreesWithPeopleAsItsReferenceDoes) {
  EXPECT_NEAR(percent("stsb/sts-test.open.tsv"), 86.29, 0.05);
  EXPECT_NEAR(percent("sts15/images.test.tsv"), 93.04, 0.05);
  EXPECT_NEAR(percent("sts13/headlines.test.tsv"), 82.49, 0.05);
}

TEST_F(MiniLm, Bf16ChangesLittle) {
  EXPECT_NEAR(percent("stsb/sts-test.open.tsv", DType::kBF16), 86.29, 0.2);
}

}  // namespace
}  // namespace reprise::experiments
