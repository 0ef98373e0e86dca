#include "server/service_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/start_thread.h"
#include "core/engine/sampling.h"
#include "server/logprobs.h"

namespace reprise::server {

Service::State::State(engine::Engine& e, const ServiceOptions& o, Metrics& m)
    : engine(e),
      options(o),
      metrics(m),
      total_kv_bytes(e.pool().options().num_blocks * e.pool().block_bytes()) {
  engine.observe_logits([this](const engine::LogitsRow& row) { observe(row); });
  metrics.standing(0, 0, engine.pool().used_bytes(), total_kv_bytes);
  if (options.has_thread) thread = start_thread("to serve requests", [this] { run(); });
}

void Service::State::run() {
  while (take_orders())
    if (engine.has_work()) step();
}

bool Service::State::take_orders() {
  std::unique_lock lock(mutex);
  // The engine may have work even if there is no request, to compute a declared prefix.
  work.wait(lock, [&] {
    return stops || !incoming.empty() || !cancels.empty() || end_all.status != 0 ||
           engine.has_work();
  });
  if (stops && in_flight == 0) return false;
  lock.unlock();
  pass_orders();
  return true;
}

void Service::State::pass_orders() {
  std::unique_lock lock(mutex);
  std::vector<Incoming> requests = std::exchange(incoming, {});
  const std::vector<Cancel> ends = std::exchange(cancels, {});
  const EndAll all = std::exchange(end_all, {});
  lock.unlock();
  for (Incoming& one : requests) start(std::move(one));
  for (const Cancel& one : ends) cancel(one);
  if (all.status != 0) fail_all(all.status, all.reason);
}

void Service::State::observe(const engine::LogitsRow& row) {
  const auto found = flights.find(row.request);
  if (found == flights.end() || found->second.alternatives < 0) return;
  Flight& flight = found->second;
  if (row.index >= 0) {
    flight.logits.assign(row.logits.begin(), row.logits.end());
    return;
  }
  // Stored by index, because a step that throws is repeated and reports its rows again.
  const auto index = static_cast<size_t>(row.token);
  if (index >= flight.prompt_logprobs.size()) return;
  const auto bad = std::find_if(row.logits.begin(), row.logits.end(),
                                [](float logit) { return std::isnan(logit); });
  if (bad != row.logits.end())
    throw engine::BadLogits(row.request, static_cast<size_t>(bad - row.logits.begin()));
  flight.prompt_logprobs[index] =
      logprobs_of(row.logits, flight.prompt[index + 1], flight.alternatives);
}

void Service::State::start(Incoming one) {
  const engine::RequestId id = one.request.id;
  flights.emplace(id, std::move(one.flight));
  try {
    engine.submit(std::move(one.request));
  } catch (const std::exception& error) {  // the states that it imports are not available
    Flight& flight = flights.at(id);
    flight.outcome = "error";
    flight.error_status = 500;
    flight.error = error.what();
    const auto finish = engine::FinishReason::kCancelled;
    this->finish({.request = id, .finish = finish}, flight,
                 {.choice = flight.choice, .finish = finish});
  }
}

void Service::State::cancel(const Cancel& one) {
  const auto found = flights.find(one.id);
  if (found == flights.end()) return;  // it has already ended
  // The first outcome is kept, because ~Ticket() cancels all requests of its answer once more.
  if (found->second.outcome.empty()) found->second.outcome = one.outcome;
  engine.cancel(one.id);  // the next step reports its end
}

void Service::State::step() {
  try {
    const engine::StepReport report = engine.step();
    // Metrics are counted before answers are sent, so that a client that has an answer finds it
    // counted.
    metrics.step(report);
    if (options.observer != nullptr) options.observer->step(report);
    show_standing(report);
    for (const engine::TokenEvent& event : report.events)
      if (event.request >= 0) tell(event);
  } catch (const engine::BadLogits& error) {
    fail(error.request(), 500, "error", error.what());
  } catch (const std::exception& error) {
    fail_all(500, error.what());
    // The engine may still have a prefix that cannot be computed.
    for (const engine::PrefixInfo& prefix : engine.prefixes())
      if (!prefix.is_ready) engine.drop_prefix(prefix.name);
  }
}

void Service::State::tell(const engine::TokenEvent& event) {
  Flight& flight = flights.at(event.request);
  Piece piece{.choice = flight.choice, .token = event.token, .finish = event.finish};
  piece.prompt_logprobs = std::exchange(flight.prompt_logprobs, {});
  if (event.has_token()) {
    ++flight.generated;
    if (flight.alternatives >= 0)
      piece.logprobs = logprobs_of(flight.logits, event.token, flight.alternatives);
  }
  if (event.finish != engine::FinishReason::kNone) {
    finish(event, flight, std::move(piece));
    return;
  }
  if (flight.error_status == 0 && !flight.reply->push(std::move(piece)))
    fail(event.request, 408, "slow_reader",
         fmt::format("{} tokens wait to be read: the connection is too slow",
                     options.most_unread_tokens));
}

void Service::State::finish(const engine::TokenEvent& last, Flight& flight, Piece piece) {
  using engine::FinishReason;
  piece.cached_tokens = last.cached_tokens;
  std::string outcome = engine::name_of(last.finish);
  if (!flight.outcome.empty() &&
      (last.finish == FinishReason::kCancelled || flight.error_status != 0))
    outcome = flight.outcome;
  if (flight.error_status != 0) {
    piece.error_status = flight.error_status;
    piece.error = flight.error;
  } else if (last.finish == FinishReason::kRefused) {
    piece.error_status = 400;
    piece.error = last.reason;
  }
  metrics.request(outcome, last, flight.prompt_tokens, flight.generated);
  if (options.observer != nullptr)
    options.observer->ended(outcome, last, flight.prompt_tokens, flight.generated);
  (void)flight.reply->push(std::move(piece));
  flights.erase(last.request);
  const std::scoped_lock lock(mutex);
  if (--in_flight == 0) idle.notify_all();
}

void Service::State::fail(engine::RequestId id, int status, const std::string& outcome,
                          const std::string& reason) {
  const auto found = flights.find(id);
  if (found == flights.end()) return;
  Flight& flight = found->second;
  if (flight.outcome.empty()) {
    flight.outcome = outcome;
    flight.error_status = status;
    flight.error = reason;
  }
  engine.cancel(id);  // the next step reports its end
}

void Service::State::fail_all(int status, const std::string& reason) {
  std::vector<engine::RequestId> ids;
  for (const auto& [id, flight] : flights) ids.push_back(id);
  for (const engine::RequestId id : ids)
    fail(id, status, status == 503 ? "cancelled" : "error", reason);
}

void Service::State::show_standing(const engine::StepReport& report) const {
  using engine::FinishReason;
  const auto left = std::count_if(
      report.events.begin(), report.events.end(), [](const engine::TokenEvent& event) {
        return event.finish == FinishReason::kLength || event.finish == FinishReason::kStop;
      });
  metrics.standing(report.waiting, report.batch - left, report.kv_bytes, total_kv_bytes);
}

}  // namespace reprise::server
