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
          .tokens = static_cast<int32_t>(tokens.size())};
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
  sequence->length = *std::max_element(sequence->positions.begin(), sequence->positions.end()) + 1;
  // Generated tokens go on behind the largest position: consecutive ones stay so.
  const std::vector<int32_t>& positions = sequence->positions;
  sequence->is_consecutive =
      std::adjacent_find(positions.begin(), positions.end(),
                         [](int32_t a, int32_t b) { return b != a + 1; }) == positions.end();
  sequence->request = std::move(request);
  next_deadline_ns_ = std::min(next_deadline_ns_, sequence->request.deadline_ns);
  const RequestId id = sequence->request.id;
  const auto [entry, is_new] = all_.emplace(id, std::move(sequence));
  REPRISE_CHECK(is_new, "request id {}", id);
  waiting_.insert(entry->second.get());
  return *entry->second;
}

void Sequences::start(Sequence& sequence) {
  REPRISE_CHECK(waiting_.erase(&sequence) == 1, "request {} does not wait", sequence.request.id);
  sequence.is_running = true;
  running_.push_back(&sequence);
}

void Sequences::preempt(Sequence& sequence) {
  std::erase(running_, &sequence);
  sequence.is_running = sequence.is_decoding = false;
  sequence.computed = 0;
  ++sequence.preemptions;
  next_deadline_ns_ = std::min(next_deadline_ns_, sequence.request.deadline_ns);
  waiting_.insert(&sequence);
}

void Sequences::remove(RequestId id) {
  Sequence& sequence = at(id);
  if (sequence.is_running)
    std::erase(running_, &sequence);
  else
    waiting_.erase(&sequence);
  all_.erase(id);
}

void Sequences::remove_running(const std::vector<RequestId>& ids) {
  if (ids.empty()) return;
  for (RequestId id : ids) at(id).is_running = false;
  std::erase_if(running_, [](const Sequence* sequence) { return !sequence->is_running; });
  for (RequestId id : ids) all_.erase(id);
}

std::vector<RequestId> Sequences::expired(int64_t now_ns) {
  std::vector<RequestId> ids;
  if (now_ns < next_deadline_ns_) return ids;
  next_deadline_ns_ = kNever;
  for (const Sequence* sequence : waiting_) {
    if (sequence->request.deadline_ns <= now_ns)
      ids.push_back(sequence->request.id);
    else
      next_deadline_ns_ = std::min(next_deadline_ns_, sequence->request.deadline_ns);
  }
  return ids;
}

}  // namespace reprise::engine
