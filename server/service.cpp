#include "server/service.h"

#include <utility>

#include "server/service_state.h"

namespace reprise::server {

Ticket::Ticket(Service& service, std::vector<engine::RequestId> ids, std::shared_ptr<Reply> reply)
    : service_(&service), ids_(std::move(ids)), reply_(std::move(reply)) {}

Ticket::~Ticket() {
  if (!ids_.empty()) service_->cancel(ids_, "cancelled");
}

void Ticket::stop(size_t choice) const {
  service_->cancel(std::span(ids_).subspan(choice, 1), "stop");
}

Service::Service(engine::Engine& engine, const ServiceOptions& options, Metrics& metrics)
    : state_(std::make_unique<State>(engine, options, metrics)) {}

Service::~Service() {
  Service::refuse_new();
  Service::end_all(503, "the server is shutting down");
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stops = true;
  }
  state_->work.notify_one();
  if (state_->options.has_thread)
    state_->thread.join();
  else
    state_->run();
}

Ticket Service::submit(std::vector<engine::Request> requests, int32_t alternatives) {
  State& s = *state_;
  const auto count = static_cast<int32_t>(requests.size());
  REPRISE_CHECK(count > 0, "an answer without choices");
  const auto reply =
      std::make_shared<Reply>(static_cast<size_t>(s.options.most_unread_tokens) * requests.size());
  std::vector<engine::RequestId> ids;
  const std::scoped_lock lock(s.mutex);
  check_room(s.refuses_new, s.in_flight, count, s.options.most_requests);
  for (int32_t choice = 0; choice < count; ++choice) {
    engine::Request& request = requests[static_cast<size_t>(choice)];
    request.id = s.next_id++;
    request.arrival_ns = s.engine.now_ns();  // the engine gets the request after its step
    ids.push_back(request.id);
    Service::State::Flight flight{.reply = reply,
                                  .choice = choice,
                                  .alternatives = alternatives,
                                  .prompt_tokens = std::ssize(request.prompt)};
    if (alternatives >= 0 && request.logits == engine::LogitsMode::kAll) {
      flight.prompt = request.prompt;
      flight.prompt_logprobs.resize(request.prompt.size() - 1);
    } else if (alternatives >= 0) {
      request.logits = engine::LogitsMode::kDrawn;
    }
    s.incoming.push_back({.request = std::move(request), .flight = std::move(flight)});
  }
  s.in_flight += count;
  s.work.notify_one();
  return {*this, std::move(ids), reply};
}

void Service::refuse_new() {
  const std::scoped_lock lock(state_->mutex);
  state_->refuses_new = true;
}

bool Service::refuses_new() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->refuses_new;
}

bool Service::wait_idle(std::chrono::milliseconds most) const {
  std::unique_lock lock(state_->mutex);
  return state_->idle.wait_for(lock, most, [&] { return state_->in_flight == 0; });
}

void Service::end_all(int status, const std::string& reason) {
  const std::scoped_lock lock(state_->mutex);
  state_->end_all = {status, reason};
  state_->work.notify_one();
}

void Service::turn() {
  REPRISE_CHECK(!state_->options.has_thread, "the service takes its turns itself");
  state_->pass_orders();
  if (state_->engine.has_work()) state_->step();
}

void Service::cancel(std::span<const engine::RequestId> ids, const std::string& outcome) {
  const std::scoped_lock lock(state_->mutex);
  for (const engine::RequestId id : ids) state_->cancels.push_back({id, outcome});
  state_->work.notify_one();
}

}  // namespace reprise::server
