#include "core/engine/waiting_queue.h"

#include "core/base/error.h"
#include "core/engine/sequences.h"

namespace reprise::engine {
namespace {

Age age_of(const Sequence& sequence) {
  return {.priority = sequence.request.priority,
          .arrival_ns = sequence.times.intended,
          .submission = sequence.submission};
}

}  // namespace

WaitingQueue::WaitingQueue(const Scheduler& scheduler)
    : rules_(scheduler.rules()), ordered_([&scheduler](const Sequence* a, const Sequence* b) {
        const WaitingRequest x = a->waiting(), y = b->waiting();
        if (scheduler.comes_before(x, y)) return true;
        return !scheduler.comes_before(y, x) && x.submission < y.submission;
      }) {}

void WaitingQueue::add(Sequence& sequence) {
  ordered_.insert(&sequence);
  if (rules_.most_wait_ns != kNever) by_age_.emplace(age_of(sequence), &sequence);
  if (rules_.follows_prefixes)
    groups_.add_waiting(sequence.prefix_keys, age_of(sequence), sequence);
}

void WaitingQueue::remove(Sequence& sequence) {
  REPRISE_CHECK(ordered_.erase(&sequence) == 1, "request {} does not wait", sequence.request.id);
  if (rules_.most_wait_ns != kNever) by_age_.erase(age_of(sequence));
  if (rules_.follows_prefixes) groups_.remove_waiting(sequence.prefix_keys, age_of(sequence));
}

void WaitingQueue::add_running(const Sequence& sequence) {
  if (!rules_.follows_prefixes) return;
  groups_.add_running(sequence.prefix_keys);
  groups_.add_running(sequence.prefix_keys);
  groups_.remove_running(last_keys_);
  last_keys_ = sequence.prefix_keys;
}

void WaitingQueue::remove_running(const Sequence& sequence) {
  if (rules_.follows_prefixes) groups_.remove_running(sequence.prefix_keys);
}

Sequence& WaitingQueue::head(int64_t now_ns) const {
  Sequence& first = **ordered_.begin();
  if (rules_.most_wait_ns != kNever) {
    Sequence& oldest = *by_age_.begin()->second;
    if (oldest.times.intended <= now_ns - rules_.most_wait_ns) return oldest;
  }
  if (rules_.follows_prefixes) {
    Sequence* next = groups_.next();
    if (next != nullptr && next->request.priority == first.request.priority) return *next;
  }
  return first;
}

}  // namespace reprise::engine
