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

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "workloads/serving/block_trace.h"

namespace reprise::workloads::serving {
namespace {

// Finds out which requests are one conversation. A request may come before its parent, so each is
// numbered by itself when it is read, and whole() is only right after the last one.
class ChatSessions {
 public:
  // Returns the number of a request. parent < 0: it has none.
  int64_t add(int64_t chat, int64_t parent) {
    const int64_t number = number_of(chat);
    if (parent >= 0) join(whole(number), whole(number_of(parent)));
    return number;
  }

  // Returns the lowest number of the conversation that a request's number is in.
  int64_t whole(int64_t number) {
    while (joined(number) != number) number = joined(number) = joined(joined(number));
    return number;
  }

 private:
  int64_t number_of(int64_t chat) {
    const auto [at, is_new] = numbers_.try_emplace(chat, std::ssize(joined_));
    if (is_new) joined_.push_back(at->second);
    return at->second;
  }

  int64_t& joined(int64_t number) { return joined_[static_cast<size_t>(number)]; }
  void join(int64_t a, int64_t b) { joined(std::max(a, b)) = std::min(a, b); }

  std::unordered_map<int64_t, int64_t> numbers_;  // by chat
  std::vector<int64_t> joined_;                   // [numbers] a lower one of the same conversation
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
  auto read = read_block_trace(format, options, [&](JsonObject& line, BlockTrace& trace) {
    const int64_t chat = line.integer_in("chat_id", 0, INT64_MAX);
    const int64_t parent = line.integer_in("parent_chat_id", -1, INT64_MAX);
    line.allow({"type", "turn"});
    trace.read(line, read_time_s(line), sessions.add(chat, parent));
  });
  read->rename_sessions([&](int64_t number) { return sessions.whole(number); });
  return read;
}

}  // namespace reprise::workloads::serving
