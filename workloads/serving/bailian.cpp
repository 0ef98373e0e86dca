// Alibaba's traces of Qwen on Bailian: arrival times, lengths, conversations, and block ids that
// show which blocks of prompts are equal.
//
// Files are JSON Lines of {chat_id, parent_chat_id (-1: none), timestamp (s), input_length,
// output_length, type, turn, hash_ids} with an id for each block of 16 tokens, hashed by its tokens
// alone [KVCache Cache in the Wild, ATC'25].
//
// Prompts are made as in BlockTrace. Requests whose chains of parents lead to the same first
// request are one conversation, even if that first request is missing from the file.
#include "workloads/serving/sources.h"

#include <cmath>
#include <unordered_map>

#include "core/base/error.h"
#include "workloads/serving/block_trace.h"

namespace reprise::workloads::serving {
namespace {

// Numbers the conversations in the order in which their first requests appear.
class ChatSessions {
 public:
  int64_t of(int64_t chat, int64_t parent) {
    const int64_t session = parent < 0 ? next_++ : number_of(parent);
    numbers_[chat] = session;
    return session;
  }

 private:
  int64_t number_of(int64_t chat) {
    const auto [at, is_new] = numbers_.try_emplace(chat, next_);
    if (is_new) ++next_;
    return at->second;
  }

  std::unordered_map<int64_t, int64_t> numbers_;  // by chat
  int64_t next_ = 0;
};

double read_time_s(JsonObject& line) {
  const double time_s = line.number("timestamp");
  if (!(time_s >= 0) || !std::isfinite(time_s))
    raise("{} is {}, it must be seconds from 0 on", line.where("timestamp"), time_s);
  return time_s;
}

}  // namespace

SourceInfo bailian_info() {
  return {.name = "bailian",
          .summary =
              "Alibaba's traces of Qwen: times, lengths, conversations and which blocks of "
              "prompts are the same",
          .file = FileUse::kNeeded,
          .fields = {"requests", "window_start_s", "window_s", "unsorted_times", "length_divisor",
                     "most_prompt_tokens", "most_output_tokens", "too_long"},
          .is_timed = true};
}

std::unique_ptr<Entries> make_bailian(const SourceOptions& options) {
  const BlockFormat format = {.source = "bailian", .block_tokens = 16};
  ChatSessions sessions;
  return read_block_trace(format, options, [&](JsonObject& line, BlockTrace& trace) {
    const int64_t chat = line.integer_in("chat_id", 0, INT64_MAX);
    const int64_t parent = line.integer_in("parent_chat_id", -1, INT64_MAX);
    line.allow({"type", "turn"});
    trace.read(line, read_time_s(line), sessions.of(chat, parent));
  });
}

}  // namespace reprise::workloads::serving
