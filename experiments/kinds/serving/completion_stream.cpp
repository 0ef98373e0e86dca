#include "experiments/kinds/serving/completion_stream.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/base/visible.h"

namespace reprise::server {
namespace {

constexpr size_t kLongestEvent = size_t{16} << 20;
constexpr size_t kLongestReason = 200;
constexpr int64_t kMostTokens = int64_t{1} << 20;  // a server's larger token counts are invalid

// A count of tokens; -1 if there is none or it is invalid.
int64_t count_at(const Value& object, const char* key) {
  const Value& found = field_of(object, key);
  if (!found.is_int64()) return -1;
  const int64_t value = found.integer();
  return value >= 0 && value <= kMostTokens ? value : -1;
}

std::string text_at(const Value& object, const char* key) {
  const Value& found = field_of(object, key);
  return found.is_text() ? found.text() : "";
}

bool are_ids(const Value& list) {
  const auto is_id = [](const Value& id) {
    return id.is_int64() && id.integer() >= 0 &&
           id.integer() <= std::numeric_limits<int32_t>::max();
  };
  return list.is_list() && std::all_of(list.list().begin(), list.list().end(), is_id);
}

// The running count of tokens in an event of vLLM or llama.cpp; -1 if the event has none.
int64_t running_count(const Value& event) {
  const int64_t of_usage = count_at(field_of(event, "usage"), "completion_tokens");
  return of_usage >= 0 ? of_usage : count_at(field_of(event, "timings"), "predicted_n");
}

std::string reason_of(const Value& error) {
  const std::string message = error.is_text() ? error.text() : text_at(error, "message");
  return visible((message.empty() ? json_text(error) : message).substr(0, kLongestReason), "");
}

}  // namespace

void CompletionStream::feed(std::string_view bytes, double time_s) {
  last_s_ = time_s;
  while (!bytes.empty() && answer_.fault.empty()) {
    const size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    if (line_.size() + data_.size() > kLongestEvent) {
      answer_.fault = "an event of more than 16 MiB";
      return;
    }
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    end_line(time_s);
  }
}

void CompletionStream::end_line(double time_s) {
  std::string_view line = line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) {
    end_event(time_s);
  } else if (line.starts_with("data:")) {
    line.remove_prefix(line.starts_with("data: ") ? 6 : 5);
    if (has_data_) data_ += '\n';
    data_ += line;
    has_data_ = true;
  }
  line_.clear();
}

void CompletionStream::end_event(double time_s) {
  if (!has_data_) return;
  if (data_ == "[DONE]") {
    is_done_ = true;
  } else {
    try {
      read(parse_json(data_, "an event"), time_s);
    } catch (const Error&) {
      answer_.fault = "an event that is no JSON";
    }
  }
  data_.clear();
  has_data_ = false;
}

void CompletionStream::read(const Value& event, double time_s) {
  if (const Value& error = field_of(event, "error"); !error.is_null()) {
    answer_.fault = reason_of(error);
    return;
  }
  const Value& usage = field_of(event, "usage");
  answer_.prompt_tokens = std::max(answer_.prompt_tokens, count_at(usage, "prompt_tokens"));
  answer_.cached_tokens = std::max(
      {answer_.cached_tokens, count_at(field_of(usage, "prompt_tokens_details"), "cached_tokens"),
       count_at(field_of(event, "timings"), "cache_n")});
  reasoned_ = std::max(reasoned_,
                       count_at(field_of(usage, "completion_tokens_details"), "reasoning_tokens"));
  const int64_t counted = running_count(event);
  total_ = std::max(total_, counted);
  const Value& choices = field_of(event, "choices");
  if (choices.is_list() && choices.size() > 0) read_choice(choices.list().front(), counted, time_s);
}

void CompletionStream::read_choice(const Value& choice, int64_t counted, double time_s) {
  const std::string reason = text_at(choice, "finish_reason");
  if (!reason.empty()) answer_.finish_reason = reason;
  const Value& delta = field_of(choice, "delta");  // in a chat
  const std::string text = text_at(choice, "text") + text_at(delta, "content");
  std::string reasoning = text_at(delta, "reasoning_content");
  if (reasoning.empty()) reasoning = text_at(delta, "reasoning");
  answer_.text += reasoning + text;
  const bool has_answer = !text.empty() || field_of(delta, "tool_calls").size() > 0;
  const bool has_reasoning = !reasoning.empty();
  Chunk chunk{.time_s = time_s,
              .has_text = has_answer || has_reasoning,
              .is_reasoning = has_reasoning && !has_answer,
              .opens = !std::exchange(has_begun_, true) && !text_at(delta, "role").empty() &&
                       !has_answer && !has_reasoning && reason.empty(),
              .ends = !reason.empty()};
  const Value& ids = field_of(choice, "token_ids");
  const Value& logprobs = field_of(choice, "logprobs");
  const Value& tokens = field_of(logprobs, delta.is_null() ? "tokens" : "content");
  if (are_ids(ids)) {
    chunk.tokens = std::ssize(ids.list());
    for (const Value& id : ids.list())
      answer_.token_ids.push_back(static_cast<int32_t>(id.integer()));
  } else if (is_running(counted, chunk)) {
    chunk.tokens = std::max<int64_t>(counted - counted_, 0);
  } else if (tokens.is_list() && tokens.size() > 0) {
    chunk.tokens = std::ssize(tokens.list());
  }
  counted_ = std::max(counted_, counted);
  has_token_ = has_token_ || chunk.tokens > 0 || chunk.has_text;
  if (chunk.tokens != 0) chunks_.push_back(chunk);
}

// True if the count of an event belongs to a running count that began with the answer's first
// token. Many servers give a count only in the last event, or report 0 until then.
bool CompletionStream::is_running(int64_t counted, const Chunk& chunk) const {
  if (counted < 0) return false;
  if (counted_ > 0) return true;
  if (counted == 0) return !chunk.has_text;
  if (chunk.ends && !chunk.has_text) return false;
  return std::none_of(chunks_.begin(), chunks_.end(),
                      [](const Chunk& earlier) { return earlier.has_text; });
}

// The time of each token. An event has as many tokens as it reports; an event without a reported
// number has one token.
std::vector<double> CompletionStream::as_told(const Chunks& chunks) {
  std::vector<double> times;
  for (const Chunk& chunk : chunks)
    times.insert(times.end(), static_cast<size_t>(std::max<int64_t>(chunk.tokens, 1)),
                 chunk.time_s);
  return times;
}

std::vector<double> CompletionStream::token_times() const {
  const auto that = [&](auto&& is_one) {
    Chunks found;
    std::copy_if(chunks_.begin(), chunks_.end(), std::back_inserter(found), is_one);
    return found;
  };
  const auto is_shown = [](const Chunk& chunk) { return chunk.tokens > 0 || chunk.has_text; };
  const Chunks shown = that(is_shown);
  if (shown.empty() && !answer_.tells_tokens) return {};  // nothing says that a token was generated
  const Chunks within =
      that([&](const Chunk& one) { return is_shown(one) || !(one.opens || one.ends); });
  const Chunks opened = that([&](const Chunk& one) { return is_shown(one) || !one.opens; });
  for (const Chunks* chunks : {&shown, &within, &opened, &chunks_})
    if (std::vector<double> times = as_told(*chunks); total_ < 0 || std::ssize(times) == total_)
      return times;
  return spread(shown);
}

std::vector<double> CompletionStream::spread(const Chunks& chunks) const {
  std::vector<double> times;
  if (chunks.empty()) return times;
  const int64_t steps = std::max<int64_t>(total_ - 1, 1), last = std::ssize(chunks) - 1;
  for (int64_t i = 0; i < total_; ++i)
    times.push_back(chunks[static_cast<size_t>(i * last / steps)].time_s);
  return times;
}

int64_t CompletionStream::reasoning_tokens() const {
  if (reasoned_ >= 0) return reasoned_;
  int64_t tokens = 0;
  for (const Chunk& chunk : chunks_)
    if (chunk.is_reasoning) tokens += std::max<int64_t>(chunk.tokens, 1);
  return tokens;
}

CompletionAnswer CompletionStream::take(int64_t wanted, bool has_ended) {
  if (has_ended && answer_.fault.empty() && (!line_.empty() || has_data_)) {
    // The last event of a body may lack the blank line at its end.
    end_line(last_s_);
    end_event(last_s_);
  }
  answer_.tells_tokens =
      total_ >= 0 || std::any_of(chunks_.begin(), chunks_.end(),
                                 [](const Chunk& chunk) { return chunk.tokens >= 0; });
  if (!answer_.tells_tokens && answer_.finish_reason == "length") total_ = wanted;
  answer_.token_s = token_times();
  answer_.reasoning_tokens = std::min<int64_t>(reasoning_tokens(), std::ssize(answer_.token_s));
  if (answer_.token_ids.size() != answer_.token_s.size()) answer_.token_ids.clear();
  return std::move(answer_);
}

std::string error_text(const std::string& body) {
  try {
    const Value parsed = parse_json(body, "an answer");
    if (const Value& error = field_of(parsed, "error"); !error.is_null()) return reason_of(error);
    if (std::string message = text_at(parsed, "message"); !message.empty())
      return visible(message.substr(0, kLongestReason), "");
  } catch (const Error&) {  // no JSON: the text itself is the message
  }
  return visible(body.substr(0, kLongestReason), "");
}

}  // namespace reprise::server
