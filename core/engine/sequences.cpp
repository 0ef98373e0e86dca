#include "core/engine/sequences.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace reprise::engine {

WaitingRequest Sequence::waiting() const {
  return {.id = request.id,
          .arrival_ns = times.intended,
          .submission = submission,
          .priority = request.priority,
          .tokens = static_cast<int32_t>(tokens.size()),
          .cached_tokens = expected_tokens};
}

RunningSequence Sequence::running() const {
  return {.id = request.id,
          .arrival_ns = times.intended,
          .submission = submission,
          .priority = request.priority,
          .prompt_tokens = prompt_tokens,
          .computed = computed,
          .pending = pending(),
          .is_decoding = is_decoding};
}

TokenEvent Sequence::last_event(FinishReason finish) const {
  return {.request = request.id,
          .index = generated(),
          .time_ns = times.done,
          .finish = finish,
          .times = times,
          .cached_tokens = cached_tokens,
          .preemptions = preemptions};
}

void Sequence::append(int32_t token) {
  tokens.push_back(token);
  positions.push_back(length++);
  if (!compared.empty()) compared.push_back(reuse::kPrivateToken);
}

Sequence& Sequences::add(Request request, int64_t now_ns) {
  auto sequence = std::make_unique<Sequence>();
  sequence->times.submitted = now_ns;
  sequence->times.intended = request.arrival_ns == kNotYet ? now_ns : request.arrival_ns;
  sequence->submission = submissions_++;
  sequence->length = static_cast<int32_t>(prompt_end(request));
  sequence->is_consecutive = has_consecutive_positions(request);
  sequence->tokens = std::move(request.prompt);
  sequence->prompt_tokens = static_cast<int32_t>(sequence->tokens.size());
  if (request.shareable_tokens < sequence->prompt_tokens) {
    sequence->compared = sequence->tokens;
    std::fill(sequence->compared.begin() + request.shareable_tokens, sequence->compared.end(),
              reuse::kPrivateToken);
  }
  sequence->positions = std::move(request.positions);
  if (sequence->positions.empty()) {
    sequence->positions.resize(sequence->tokens.size());
    std::iota(sequence->positions.begin(), sequence->positions.end(), 0);
  }
  sequence->request = std::move(request);
  if (rules_.follows_prefixes)
    sequence->prefix_keys = prefix_keys(sequence->compared_tokens(), sequence->positions);
  const RequestId id = sequence->request.id;
  const auto [entry, is_new] = all_.emplace(id, std::move(sequence));
  REPRISE_CHECK(is_new, "request id {}", id);
  queue(*entry->second);
  return *entry->second;
}

void Sequences::queue(Sequence& sequence) {
  if (rules_.counts_cached) sequence.expected_tokens = expect_(sequence);
  queue_.add(sequence);
}

void Sequences::start(Sequence& sequence) {
  queue_.remove(sequence);
  queue_.add_running(sequence);
  sequence.is_running = true;
  running_.push_back(&sequence);
}

void Sequences::preempt(Sequence& sequence) {
  std::erase(running_, &sequence);
  queue_.remove_running(sequence);
  sequence.is_running = sequence.is_decoding = false;
  sequence.computed = 0;
  ++sequence.preemptions;
  queue(sequence);
}

std::vector<RequestId> Sequences::ids() const {
  std::vector<RequestId> ids;
  for (const auto& [id, sequence] : all_) ids.push_back(id);
  return ids;
}

void Sequences::remove(RequestId id) {
  Sequence& sequence = at(id);
  if (sequence.is_running) {
    queue_.remove_running(sequence);
    std::erase(running_, &sequence);
  } else {
    queue_.remove(sequence);
  }
  all_.erase(id);
}

void Sequences::remove_running(const std::vector<RequestId>& ids) {
  if (ids.empty()) return;
  for (RequestId id : ids) {
    queue_.remove_running(at(id));
    at(id).is_running = false;
  }
  std::erase_if(running_, [](const Sequence* sequence) { return !sequence->is_running; });
  for (RequestId id : ids) all_.erase(id);
}

}  // namespace reprise::engine
