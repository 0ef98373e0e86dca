// The requests in an engine, both waiting and running.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/engine/request.h"
#include "core/engine/scheduler.h"
#include "core/engine/waiting_queue.h"

namespace reprise::engine {

struct Sequence {
  // The request. Its prompt and positions are moved into `tokens` and `positions` below.
  Request request;
  std::vector<int32_t> tokens;     // prompt, then generated tokens
  std::vector<int32_t> positions;  // [tokens]
  // The tokens that methods compare: `tokens`, with reuse::kPrivateToken in place of each token
  // beyond Request::shareable_tokens. Empty if equal to `tokens`.
  std::vector<int32_t> compared;
  // The prompt as it was submitted, if TokenRules need it and a RequestShaper has changed it;
  // otherwise empty.
  std::vector<int32_t> submitted_prompt;
  int32_t prompt_tokens = 0;
  int32_t length = 0;           // position of the next generated token; see prompt_end()
  int32_t computed = 0;         // leading tokens whose keys and values the next row may read
  int32_t shown = 0;            // leading tokens whose logits the observer has received
  bool is_consecutive = false;  // has_consecutive_positions() of the request
  bool is_running = false, is_decoding = false;
  int64_t submission = 0;
  // Set if the scheduler's rules need them.
  std::vector<uint64_t> prefix_keys;  // prefix_keys() of the prompt
  int32_t expected_tokens = 0;        // tokens found in the cache when the request was queued
  RequestTimes times;
  int32_t cached_tokens = 0, preemptions = 0;  // see TokenEvent

  // Returns the event that reports the request's end, at times.done.
  [[nodiscard]] TokenEvent last_event(FinishReason finish) const;
  [[nodiscard]] int32_t pending() const { return static_cast<int32_t>(tokens.size()) - computed; }
  [[nodiscard]] int32_t generated() const {
    return static_cast<int32_t>(tokens.size()) - prompt_tokens;
  }
  [[nodiscard]] std::span<const int32_t> compared_tokens() const {
    return compared.empty() ? tokens : compared;
  }
  // Appends a generated token at position `length`.
  void append(int32_t token);
  [[nodiscard]] bool is_prefix() const { return request.id < 0; }
  [[nodiscard]] WaitingRequest waiting() const;
  [[nodiscard]] RunningSequence running() const;
};

// Waiting and running sequences. Adding a request and moving it into or out of the queue cost O(log
// waiting); leaving the batch costs O(running).
class Sequences {
 public:
  // Returns how many leading tokens would be reused if the sequence were admitted now.
  using Expect = std::function<int32_t(const Sequence&)>;

  // `scheduler` must outlive this object.
  Sequences(const Scheduler& scheduler, Expect expect)
      : rules_(scheduler.rules()), expect_(std::move(expect)), queue_(scheduler) {}

  [[nodiscard]] bool contains(RequestId id) const { return all_.contains(id); }
  [[nodiscard]] Sequence& at(RequestId id) { return *all_.at(id); }
  // Queues a request, whose id must be new.
  Sequence& add(Request request, int64_t now_ns);
  // Moves a sequence from the queue to the end of the batch.
  void start(Sequence& sequence);
  // Moves a sequence from the batch back to the queue. None of its tokens then counts as computed.
  void preempt(Sequence& sequence);
  // Removes a sequence from the queue or the batch and forgets it.
  void remove(RequestId id);
  // Forgets several running sequences in one pass, O(running).
  void remove_running(const std::vector<RequestId>& ids);

  [[nodiscard]] bool has_waiting() const { return !queue_.empty(); }
  [[nodiscard]] size_t waiting() const { return queue_.size(); }
  [[nodiscard]] Sequence& head(int64_t now_ns) const { return queue_.head(now_ns); }
  [[nodiscard]] const std::vector<Sequence*>& running() const {
    return running_;
  }  // in the order of admission
  [[nodiscard]] bool empty() const { return all_.empty(); }
  // Ids of all requests, waiting and running, in no order.
  [[nodiscard]] std::vector<RequestId> ids() const;

 private:
  void queue(Sequence& sequence);

  QueueRules rules_;
  Expect expect_;
  std::unordered_map<RequestId, std::unique_ptr<Sequence>> all_;
  WaitingQueue queue_;
  std::vector<Sequence*> running_;
  int64_t submissions_ = 0;
};

}  // namespace reprise::engine
