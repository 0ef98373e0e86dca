#include "server/embedding_answer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/json.h"

namespace reprise::server {
namespace {

TEST(EmbeddingAnswer, HasOpenAIsForm) {
  const std::vector<float> vectors = {0.5f, -1.0f, 1e-20f, 0.1f};
  const Json json = Json::parse(embedding_answer(vectors, 2, false, "a \"name\"", 7));
  EXPECT_EQ(json["object"], "list");
  EXPECT_EQ(json["model"], "a \"name\"");
  EXPECT_EQ(json["usage"], (Json{{"prompt_tokens", 7}, {"total_tokens", 7}}));
  ASSERT_EQ(json["data"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(json["data"][i]["object"], "embedding");
    EXPECT_EQ(json["data"][i]["index"], i);
    EXPECT_EQ(json["data"][i]["embedding"].get<std::vector<float>>(),
              std::vector<float>(vectors.begin() + 2 * static_cast<std::ptrdiff_t>(i),
                                 vectors.begin() + 2 * static_cast<std::ptrdiff_t>(i + 1)));
  }
}

// The expected text is derived by hand: 1.0 is 00 00 80 3f, and -2.0 is 00 00 00 c0.
TEST(EmbeddingAnswer, Base64IsTheBytesOfTheNumbers) {
  const auto base64 = [](const std::vector<float>& vector) {
    const Json json =
        Json::parse(embedding_answer(vector, static_cast<int64_t>(vector.size()), true, "m", 1));
    return json["data"][0]["embedding"].get<std::string>();
  };
  EXPECT_EQ(base64({1.0f}), "AACAPw==");
  EXPECT_EQ(base64({1.0f, -2.0f}), "AACAPwAAAMA=");
  EXPECT_EQ(base64({1.0f, -2.0f, 1.0f}), "AACAPwAAAMAAAIA/");
}

}  // namespace
}  // namespace reprise::server
