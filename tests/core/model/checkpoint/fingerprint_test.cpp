#include "core/model/checkpoint/fingerprint.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "tests/core/model/checkpoint/model_files.h"

namespace reprise::model {
namespace {

namespace fs = std::filesystem;

std::string weights(char value) {
  return safetensors_bytes(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                           std::string(8, value));
}

std::string refusal(const fs::path& folder) {
  try {
    return "accepted: " + fingerprint_of(folder).text;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Fingerprint, ChangesWithConfigAndWeights) {
  const TempDir folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", weights('a'));
  const Fingerprint first = fingerprint_of(folder.path());
  EXPECT_EQ(first.text.size(), 16u);
  EXPECT_EQ(first.hashed_bytes, first.weight_bytes);
  EXPECT_EQ(fingerprint_of(folder.path()).text, first.text);
  folder.write("README.md", "of no influence");
  EXPECT_EQ(fingerprint_of(folder.path()).text, first.text);

  std::set<std::string> seen = {first.text};
  const auto expect_another = [&](const char* what) {
    EXPECT_TRUE(seen.insert(fingerprint_of(folder.path()).text).second) << what;
  };
  folder.write("model.safetensors", weights('a') + "x");
  expect_another("another size");
  folder.write("more.safetensors", weights('a'));
  expect_another("another file");
  folder.write("config.json", "{\"a\":1}");
  expect_another("another config");
}

// The fingerprint must not rely on times, because archives and containers give all files the same
// time.
TEST(Fingerprint, IsOfTheContentAndNotOfTheTime) {
  const TempDir folder;
  folder.write("config.json", "{}");
  const auto of = [&](const std::string& bytes, fs::file_time_type time) {
    const fs::path file = folder.write("model.safetensors", bytes);
    fs::last_write_time(file, time);
    return fingerprint_of(folder.path()).text;
  };
  const fs::file_time_type then{}, later = then + std::chrono::hours(1);
  EXPECT_NE(of(weights('a'), then), of(weights('b'), then));
  EXPECT_EQ(of(weights('a'), then), of(weights('a'), later));
  std::string other_name = weights('a');
  other_name[other_name.find("\"w\"") + 1] = 'v';
  EXPECT_NE(of(other_name, then), of(weights('a'), then));
  for (const size_t bytes : {size_t{0}, size_t{5}, size_t{20}})
    EXPECT_EQ(of(weights('a').substr(0, bytes), then).size(), 16u) << "cut off";
}

TEST(Fingerprint, NamesWhatIsMissing) {
  const TempDir folder;
  EXPECT_NE(refusal(folder.path()).find("config.json"), std::string::npos);
  folder.write("config.json", "{}");
  EXPECT_NE(refusal(folder.path()).find("no weights"), std::string::npos);
}

TEST(Fingerprint, OfRandomWeightsIsOfConfigAndSeed) {
  const std::set<std::string> all = {fingerprint_of_random("{}", 1), fingerprint_of_random("{}", 2),
                                     fingerprint_of_random("{ }", 1)};
  EXPECT_EQ(all.size(), 3u);
  EXPECT_EQ(fingerprint_of_random("{}", 1), fingerprint_of_random("{}", 1));
}

TEST(Fingerprint, OfATokenizerIsOfItsBytes) {
  const TempDir folder;
  EXPECT_THROW((void)tokenizer_fingerprint_of(folder.path()), Error);
  folder.write("tokenizer.json", "{}");
  const std::string first = tokenizer_fingerprint_of(folder.path());
  folder.write("tokenizer.json", "{}");
  EXPECT_EQ(tokenizer_fingerprint_of(folder.path()), first) << "times do not count";
  folder.write("tokenizer.json", "{ }");
  EXPECT_NE(tokenizer_fingerprint_of(folder.path()), first);
  EXPECT_THROW((void)tokenizer_fingerprint_of(folder.path() / "none"), Error);
}

}  // namespace
}  // namespace reprise::model
