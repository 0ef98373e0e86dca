#include "workloads/serving/conversation_entries.h"

#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/tokenizer/tokenizer.h"
#include "workloads/serving/draws.h"

namespace reprise::workloads::serving {
namespace {

struct Ask {
  uint32_t conversation = 0, turn = 0;
};

// Returns the order of all turns: each time, one of the conversations under way is drawn for its
// next turn. When a conversation ends, another begins.
std::vector<Ask> interleave(const ConversationScript& script, int64_t under_way, uint64_t seed) {
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

class ConversationEntries final : public Entries {
 public:
  ConversationEntries(const char* source, ConversationScript script, const SourceOptions& options)
      : source_(source),
        script_(std::move(script)),
        asked_(interleave(script_, options.under_way, options.order_seed)),
        asking_(script_.turns.size()),
        shared_tokens_(options.shared_tokens) {
    prompt_tokens_.reserve(script_.turns.size());
    for (int64_t c = 0; c < script_.conversations(); ++c) add_prompt_tokens(c);
    for (int64_t entry = 0; entry < size(); ++entry)
      asking_[static_cast<size_t>(turn_of(entry))] = static_cast<uint32_t>(entry);
    if (script_.pauses_s.empty()) return;
    for (int64_t entry = 0; entry < size(); ++entry)
      pauses_s_.push_back(script_.pauses_s[static_cast<size_t>(turn_of(entry))]);
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
      const ConversationTurn& turn = script_.turns[static_cast<size_t>(t)];
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
  [[nodiscard]] std::vector<int64_t> waits_for(int64_t entry) const override {
    if (asked_[static_cast<size_t>(entry)].turn == 0) return {};
    return {asking_[static_cast<size_t>(turn_of(entry) - 1)]};
  }
  [[nodiscard]] std::span<const double> pauses_s() const override { return pauses_s_; }
  [[nodiscard]] bool order_is_free() const override { return false; }
  [[nodiscard]] RequestSource::Dropped left_out() const override { return script_.left_out; }

 private:
  void add_prompt_tokens(int64_t conversation) {
    const auto c = static_cast<size_t>(conversation);
    int64_t tokens = shared_tokens_;
    for (int64_t t = script_.first_turn[c]; t < script_.first_turn[c + 1]; ++t) {
      const ConversationTurn& turn = script_.turns[static_cast<size_t>(t)];
      tokens += turn.user_tokens;
      if (tokens > kMostTokens)
        raise("source \"{}\": a prompt has {} tokens, more than {}; ask for fewer turns", source_,
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

  const char* source_;
  ConversationScript script_;
  std::vector<Ask> asked_;              // [entries]
  std::vector<uint32_t> asking_;        // [turns of the script]  the entry that asks each
  std::vector<int32_t> prompt_tokens_;  // [turns of the script]
  std::vector<double> pauses_s_;        // [entries]  empty: not recorded
  int64_t shared_tokens_;
};

}  // namespace

bool ConversationScript::add_turn(const Tokenizer& tokenizer, const std::string& user,
                                  const std::string& answer, bool begins_prompt) {
  const std::vector<int32_t> asked = tokenizer.encode(user, {.add_special = begins_prompt});
  const std::vector<int32_t> said = tokenizer.encode(answer, {.add_special = false});
  if (asked.empty() || said.empty()) return false;
  const auto at = static_cast<int64_t>(tokens.size());
  turns.push_back({.user = at,
                   .answer = at + std::ssize(asked),
                   .user_tokens = std::ssize(asked),
                   .answer_tokens = std::ssize(said)});
  tokens.insert(tokens.end(), asked.begin(), asked.end());
  tokens.insert(tokens.end(), said.begin(), said.end());
  return true;
}

bool ConversationScript::end_conversation() {
  if (first_turn.back() == std::ssize(turns)) return false;
  first_turn.push_back(std::ssize(turns));
  return true;
}

std::unique_ptr<Entries> make_conversation_entries(const char* source, ConversationScript script,
                                                   const SourceOptions& options) {
  return std::make_unique<ConversationEntries>(source, std::move(script), options);
}

}  // namespace reprise::workloads::serving
