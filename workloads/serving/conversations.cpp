#include "workloads/serving/conversations.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/tokenizer/tokenizer.h"
#include "workloads/serving/draws.h"
#include "workloads/serving/sharegpt_file.h"

namespace reprise::workloads::serving {
namespace {

// Positions of the user's text and the answer in the tokens read, or the numbers of made-up items.
struct Turn {
  int64_t user = 0, answer = 0;
  int64_t user_tokens = 0, answer_tokens = 0;
};

// All conversations, one after another, in shared memory.
struct Script {
  std::vector<Turn> turns;
  std::vector<int64_t> first_turn = {0};  // [conversations + 1]  in `turns`
  std::vector<int32_t> tokens;            // tokens read from a file; empty: made up
  RequestSource::Dropped left_out;

  [[nodiscard]] int64_t conversations() const { return std::ssize(first_turn) - 1; }
  [[nodiscard]] int64_t turns_of(int64_t conversation) const {
    const auto c = static_cast<size_t>(conversation);
    return first_turn[c + 1] - first_turn[c];
  }
  // Makes the turns since the last call a conversation. Returns false if there are none.
  bool end_conversation() {
    if (first_turn.back() == std::ssize(turns)) return false;
    first_turn.push_back(std::ssize(turns));
    return true;
  }
};

Script make_up(const SourceOptions& options) {
  constexpr const char* kName = "conversations";
  require_given(kName, "a file or conversations", options.conversations);
  const LengthRange turns = length_range(kName, "turns", options.turns, options.turns_most);
  const LengthRange user =
      length_range(kName, "user_tokens", options.user_tokens, options.user_tokens_most);
  const LengthRange output =
      length_range(kName, "output_tokens", options.output_tokens, options.output_tokens_most);
  const uint64_t seed = options.prompts_seed;
  Script script;
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

  Script read() {
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
      if (!add_turn(at[0].text, at[1].text, begins_prompt)) break;
    }
    if (at != messages.end()) ++script_.left_out.by_rule;
    return script_.end_conversation();
  }

  bool add_turn(const std::string& user, const std::string& answer, bool begins_prompt) {
    const std::vector<int32_t> asked = tokenizer_->encode(user, {.add_special = begins_prompt});
    const std::vector<int32_t> said = tokenizer_->encode(answer, {.add_special = false});
    if (asked.empty() || said.empty()) return false;
    const auto at = static_cast<int64_t>(script_.tokens.size());
    script_.turns.push_back({.user = at,
                             .answer = at + std::ssize(asked),
                             .user_tokens = std::ssize(asked),
                             .answer_tokens = std::ssize(said)});
    script_.tokens.insert(script_.tokens.end(), asked.begin(), asked.end());
    script_.tokens.insert(script_.tokens.end(), said.begin(), said.end());
    return true;
  }

  const SourceOptions& options_;
  ShareGptFile file_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Script script_;
};

struct Ask {
  uint32_t conversation = 0, turn = 0;
};

// Draws whose turn is next among the conversations under way. When one ends, the next begins.
std::vector<Ask> interleave(const Script& script, int64_t under_way, uint64_t seed) {
  const int64_t count = script.conversations();
  const std::vector<uint32_t> start_order = permuted(count, count, seed, Draw::kOrder);
  const auto most = static_cast<size_t>(under_way == 0 ? count : under_way);
  std::vector<Ask> open, asked;
  size_t started = 0;
  for (int64_t number = 0; number < std::ssize(script.turns); ++number) {
    while (open.size() < most && started < start_order.size())
      open.push_back({.conversation = start_order[started++], .turn = 0});
    const auto pick = static_cast<size_t>(draw_unit(seed, Draw::kNextTurn, number) *
                                          static_cast<double>(open.size()));
    asked.push_back(open[pick]);
    if (++open[pick].turn < script.turns_of(open[pick].conversation)) continue;
    open[pick] = open.back();
    open.pop_back();
  }
  return asked;
}

class Conversations final : public Entries {
 public:
  Conversations(Script script, const SourceOptions& options)
      : script_(std::move(script)),
        asked_(interleave(script_, options.under_way, options.order_seed)),
        asking_(script_.turns.size()),
        shared_tokens_(options.shared_tokens) {
    prompt_tokens_.reserve(script_.turns.size());
    for (int64_t c = 0; c < script_.conversations(); ++c) add_prompt_tokens(c);
    for (int64_t entry = 0; entry < size(); ++entry)
      asking_[static_cast<size_t>(turn_of(entry))] = static_cast<uint32_t>(entry);
  }

  [[nodiscard]] int64_t size() const override { return std::ssize(asked_); }
  [[nodiscard]] RequestSource::Lengths lengths(int64_t entry) const override {
    const auto turn = static_cast<size_t>(turn_of(entry));
    return {.prompt = prompt_tokens_[turn], .output = script_.turns[turn].answer_tokens};
  }
  void add_parts(int64_t entry, std::vector<PromptPart>& out) const override {
    out.push_back({.item = -1, .tokens = shared_tokens_});
    const int64_t last = turn_of(entry);
    for (int64_t t = last - asked_[static_cast<size_t>(entry)].turn; t <= last; ++t) {
      const Turn& turn = script_.turns[static_cast<size_t>(t)];
      out.push_back(part(turn.user, turn.user_tokens));
      if (t < last) out.push_back(part(turn.answer, turn.answer_tokens));
    }
  }
  [[nodiscard]] std::vector<Prefix> prefixes() const override {
    if (shared_tokens_ == 0) return {};
    return {{.name = "system", .parts = {{.item = -1, .tokens = shared_tokens_}}}};
  }
  [[nodiscard]] int32_t prefix(int64_t /*entry*/) const override {
    return shared_tokens_ > 0 ? 0 : -1;
  }
  [[nodiscard]] int64_t session(int64_t entry) const override {
    return asked_[static_cast<size_t>(entry)].conversation;
  }
  [[nodiscard]] std::vector<EarlierAnswer> earlier_answers(int64_t entry) const override {
    std::vector<EarlierAnswer> answers;
    const int64_t last = turn_of(entry);
    for (int64_t t = last - asked_[static_cast<size_t>(entry)].turn; t < last; ++t) {
      const auto turn = static_cast<size_t>(t);
      answers.push_back({.request = asking_[turn],
                         .first = prompt_tokens_[turn],
                         .tokens = script_.turns[turn].answer_tokens});
    }
    return answers;
  }
  [[nodiscard]] bool has_conversations() const override { return true; }
  [[nodiscard]] bool order_is_free() const override { return false; }
  [[nodiscard]] RequestSource::Dropped left_out() const override { return script_.left_out; }

 private:
  void add_prompt_tokens(int64_t conversation) {
    const auto c = static_cast<size_t>(conversation);
    int64_t tokens = shared_tokens_;
    for (int64_t t = script_.first_turn[c]; t < script_.first_turn[c + 1]; ++t) {
      const Turn& turn = script_.turns[static_cast<size_t>(t)];
      tokens += turn.user_tokens;
      if (tokens > kMostTokens)
        raise("source \"conversations\": a prompt has {} tokens, more than {}; ask for fewer turns",
              tokens, kMostTokens);
      prompt_tokens_.push_back(static_cast<int32_t>(tokens));
      tokens += turn.answer_tokens;
    }
  }
  [[nodiscard]] int64_t turn_of(int64_t entry) const {
    const Ask& ask = asked_[static_cast<size_t>(entry)];
    return script_.first_turn[ask.conversation] + ask.turn;
  }
  [[nodiscard]] PromptPart part(int64_t place, int64_t tokens) const {
    if (script_.tokens.empty()) return {.item = place, .tokens = tokens};
    return {.tokens = tokens, .text = script_.tokens.data() + place};
  }

  Script script_;
  std::vector<Ask> asked_;              // [entries]
  std::vector<uint32_t> asking_;        // [turns of the script]  the entry that asks each
  std::vector<int32_t> prompt_tokens_;  // [turns of the script]
  int64_t shared_tokens_;
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
  if (options.file.empty()) return std::make_unique<Conversations>(make_up(options), options);
  refuse_beside_file(options);
  return std::make_unique<Conversations>(Reader(options).read(), options);
}

}  // namespace reprise::workloads::serving
