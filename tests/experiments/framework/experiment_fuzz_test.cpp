// Reads thousands of damaged experiment files. Each must be accepted, or be refused with an Error.
#include <gtest/gtest.h>

#include <random>

#include "experiments/framework/overrides.h"
#include "tests/experiments/framework/sample_experiment.h"
#include "tests/support/json.h"

namespace reprise::experiments {
namespace {

constexpr uint64_t kSeed = 20240607;
constexpr int kFiles = 4000;

Json random_value(std::mt19937_64& random) {
  switch (random() % 9) {
    case 0:
      return nullptr;
    case 1:
      return static_cast<int64_t>(random());
    case 2:
      return random();
    case 3:
      return -1e300;
    case 4:
      return std::string(random() % 40, static_cast<char>(random() % 127 + 1));
    case 5:
      return Json::array({1, "x", nullptr});
    case 6:
      return Json::object({{"a", 1}});
    case 7:
      return random() % 2 == 0;
    default:
      return Json::array();
  }
}

// Collects the pointer of every place inside a document.
void collect(const Json& json, const Json::json_pointer& at,
             std::vector<Json::json_pointer>& places) {
  places.push_back(at);
  if (json.is_object())
    for (const auto& [key, value] : json.items()) collect(value, at / key, places);
  if (json.is_array())
    for (size_t i = 0; i < json.size(); ++i) collect(json[i], at / i, places);
}

// Reads the text as if it were a file. Returns true if it was accepted.
bool accepts(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    const Experiment experiment = parse_experiment(parse_json(text, "fuzz.json"), "fuzz.json",
                                                   "smoke", overrides, sample_vocabulary());
    EXPECT_FALSE(experiment.models.empty());
    return true;
  } catch (const Error& error) {
    EXPECT_GT(std::string(error.what()).size(), 10u);
    return false;
  }
}

TEST(ExperimentFuzz, ReplacedValuesAreReadOrRefused) {
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE(kSeed);
  std::vector<Json::json_pointer> places;
  collect(sample_file(), Json::json_pointer(), places);
  int accepted = 0;
  for (int i = 0; i < kFiles; ++i) {
    Json file = sample_file();
    file[places[random() % places.size()]] = random_value(random);
    accepted += accepts(file.dump(-1, ' ', false, Json::error_handler_t::replace)) ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, kFiles);
}

TEST(ExperimentFuzz, DamagedTextIsReadOrRefused) {
  std::mt19937_64 random(kSeed + 1);
  SCOPED_TRACE(kSeed + 1);
  const std::string sound = sample_file().dump();
  ASSERT_TRUE(accepts(sound));
  for (int i = 0; i < kFiles; ++i) {
    std::string text = sound;
    for (uint64_t edits = random() % 4 + 1; edits > 0 && !text.empty(); --edits) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 20);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
          break;
        default:
          text.resize(at);
      }
    }
    accepts(text);
  }
}

TEST(ExperimentFuzz, RandomOverridesAreReadOrRefused) {
  std::mt19937_64 random(kSeed + 2);
  SCOPED_TRACE(kSeed + 2);
  const std::string sound = sample_file().dump();
  const std::string letters = "abms.=[]{}\"0123456789-weprtd_";
  for (int i = 0; i < kFiles; ++i) {
    std::string text = random() % 2 == 0 ? "" : "sweep.prompt_tokens=";
    for (uint64_t n = random() % 20; n > 0; --n) text += letters[random() % letters.size()];
    accepts(sound, {text});
  }
}

}  // namespace
}  // namespace reprise::experiments
