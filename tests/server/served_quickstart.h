// Fixture for tests of the API over a real socket, with the shipped model.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/tokenizer/utf8.h"
#include "tests/server/quickstart_server.h"
#include "tests/support/json.h"
#include "tests/support/run_model.h"

namespace reprise::server {

inline constexpr const char* kPrompt = "Q: what is the code of the blue door?\nA:";

// The texts of a stream's choices, each concatenated, and the facts from its end.
struct Streamed {
  std::vector<std::string> texts, reasons;
  std::vector<Json> events;  // without [DONE]
  bool is_done = false;
};
inline Streamed streamed(const RawAnswer& answer, size_t choices) {
  Streamed out{std::vector<std::string>(choices), std::vector<std::string>(choices), {}, false};
  for (const std::string& event : events_of(answer.body)) {
    EXPECT_FALSE(out.is_done);
    if (event == "[DONE]") {
      out.is_done = true;
      continue;
    }
    const Json json = Json::parse(event);
    out.events.push_back(json);
    if (!json.contains("choices")) continue;
    for (const Json& choice : json["choices"]) {
      const auto index = choice["index"].get<size_t>();
      const std::string text =
          choice.contains("text") ? choice["text"] : choice["delta"]["content"];
      tokenizer::require_utf8(text, "an event");
      out.texts[index] += text;
      if (!choice["finish_reason"].is_null()) out.reasons[index] = choice["finish_reason"];
    }
  }
  return out;
}

class ServerTest : public ::testing::Test {
 protected:
  // The greedy continuation of the prompt by the engine alone.
  [[nodiscard]] std::string wanted(const std::string& prompt, int32_t tokens) const {
    std::vector<int32_t> ids = server_.tokenizer().encode(prompt);
    const std::string before = server_.tokenizer().decode(ids);
    const std::vector<int32_t> more =
        testing::generate(server_.decoder(), ids, tokens, "contiguous", 512, Context::machine());
    ids.insert(ids.end(), more.begin(), more.end());
    return server_.tokenizer().decode(ids).substr(before.size());
  }
  [[nodiscard]] static Json greedy(const std::string& prompt, int32_t tokens) {
    return {{"prompt", prompt}, {"max_tokens", tokens}, {"temperature", 0}, {"ignore_eos", true}};
  }

  QuickstartServer server_;
};

}  // namespace reprise::server
