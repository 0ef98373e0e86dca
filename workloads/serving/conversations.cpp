// Conversations of several turns, many at a time. The prompt of turn t is the whole history,
// answers included, and a new text of the user. Either lengths are drawn and tokens made up, or the
// texts come from a file of ShareGPT's form (sharegpt.cpp).
//
// In a file people ("human", "user") and models ("gpt", "chatgpt", "bing", "bard", "assistant")
// take turns. Each text is encoded separately; the tokenizer's opening tokens are only before the
// first. Model texts before the first question are skipped. A conversation ends before the first
// turn that lacks a text or an answer, or in which the wrong side speaks.
//
// Turns of a conversation keep their order; the order's seed draws which conversation continues
// next. A turn's shared tokens end with the prompt of the turn before. The answer to that prompt
// does not count, since a server generates another answer than the one in the history.
#include "workloads/serving/sources.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/tokenizer/tokenizer.h"
#include "workloads/serving/conversation_entries.h"
#include "workloads/serving/draws.h"
#include "workloads/serving/sharegpt_file.h"

namespace reprise::workloads::serving {
namespace {

ConversationScript make_up(const SourceOptions& options) {
  constexpr const char* kName = "conversations";
  require_given(kName, "a file or conversations", options.conversations);
  const LengthRange turns = length_range(kName, "turns", options.turns, options.turns_most);
  const LengthRange user =
      length_range(kName, "user_tokens", options.user_tokens, options.user_tokens_most);
  const LengthRange output =
      length_range(kName, "output_tokens", options.output_tokens, options.output_tokens_most);
  const uint64_t seed = options.prompts_seed;
  ConversationScript script;
  for (int64_t c = 0; c < options.conversations; ++c) {
    for (int64_t t = 0, count = turns.draw(seed, Draw::kTurns, c); t < count; ++t) {
      const int64_t number = c * kMostTurns + t;
      script.turns.push_back({.user = 2 * number,
                              .answer = 2 * number + 1,
                              .user_tokens = user.draw(seed, Draw::kUserTokens, number),
                              .answer_tokens = output.draw(seed, Draw::kOutputTokens, number)});
    }
    script.end_conversation();
    if (std::ssize(script.turns) > kMostRequests)
      raise("source \"conversations\": more than {} turns in all; ask for fewer", kMostRequests);
  }
  return script;
}

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
bool is_person(const Message& message) { return is_one_of(message.from, {"human", "user"}); }
bool is_model(const Message& message) {
  return is_one_of(message.from, {"gpt", "chatgpt", "bing", "bard", "assistant"});
}

// Reads a file's conversations as tokens.
class Reader {
 public:
  explicit Reader(const SourceOptions& options)
      : options_(options), file_(options.file), tokenizer_(options.tokenizer()) {}

  ConversationScript read() {
    SourceOptions sample = options_;
    sample.requests = options_.conversations;
    sample_entries(file_.size(), sample, [this](int64_t place) { return take(place); });
    return std::move(script_);
  }

 private:
  bool take(int64_t place) {
    const std::vector<Message> messages = file_.messages(place);
    auto at = std::find_if(messages.begin(), messages.end(), is_person);
    const auto first = at;
    for (; messages.end() - at >= 2 && is_person(at[0]) && is_model(at[1]); at += 2) {
      // A declared prefix takes the place of the tokenizer's opening tokens.
      const bool begins_prompt = at == first && options_.shared_tokens == 0;
      if (!script_.add_turn(*tokenizer_, at[0].text, at[1].text, begins_prompt)) break;
    }
    const bool is_kept = script_.end_conversation();
    // A single message after the last turn makes no request, since it lacks its answer or its
    // question. It is not counted as left out.
    if (!is_kept || messages.end() - at > 1) ++script_.left_out.by_rule;
    return is_kept;
  }

  const SourceOptions& options_;
  ShareGptFile file_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  ConversationScript script_;
};

void refuse_beside_file(const SourceOptions& options) {
  for (const auto& [name, value] : {std::pair{"turns", options.turns},
                                    {"turns_most", options.turns_most},
                                    {"user_tokens", options.user_tokens},
                                    {"user_tokens_most", options.user_tokens_most},
                                    {"output_tokens", options.output_tokens},
                                    {"output_tokens_most", options.output_tokens_most}})
    if (value != 0)
      raise(
          "source \"conversations\": {} is of conversations that are made up, and these are from "
          "{}",
          name, options.file.string());
}

}  // namespace

SourceInfo conversations_info() {
  return {.name = "conversations",
          .summary = "conversations of several turns, made up or from a file of ShareGPT's form",
          .file = FileUse::kOptional,
          .fields = {"requests", "shared_tokens", "user_tokens", "user_tokens_most",
                     "output_tokens", "output_tokens_most", "conversations", "turns", "turns_most",
                     "under_way", "most_prompt_tokens", "most_output_tokens", "too_long"}};
}

std::unique_ptr<Entries> make_conversations(const SourceOptions& options) {
  const bool is_made_up = options.file.empty();
  if (!is_made_up) refuse_beside_file(options);
  return make_conversation_entries("conversations",
                                   is_made_up ? make_up(options) : Reader(options).read(), options);
}

}  // namespace reprise::workloads::serving
