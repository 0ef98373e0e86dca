// An engine in a thread of its own, that many connections hand their requests to.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "server/metrics.h"
#include "server/reply.h"

namespace reprise::server {

struct ServiceOptions {
  int32_t most_requests = 256;  // waiting and running; each choice of an answer is one
  // Tokens of an answer that its connection has not taken; one that lets more wait is cut off.
  int32_t most_unread_tokens = 4096;
};

class Service;

// An answer under way: what is left of its requests is cancelled when this ends, which must be
// before the service does.
class Ticket {
 public:
  Ticket(Service& service, std::vector<engine::RequestId> ids, std::shared_ptr<Reply> reply);
  Ticket(Ticket&&) noexcept = default;
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket();

  [[nodiscard]] Reply& reply() const { return *reply_; }
  // Ends a choice that needs no more tokens, since a stop text was found in it. The metrics count
  // it as stopped; one whose last token the engine has drawn before it hears of this, as it ended
  // there.
  void stop(size_t choice) const;

 private:
  Service* service_;
  std::vector<engine::RequestId> ids_;  // [choices]; empty: moved from
  std::shared_ptr<Reply> reply_;
};

// Thread-safe. From its making to its end the engine is the service's alone.
//
// A request whose logits are NaN ends with status 500, the others go on. Where a step fails
// otherwise, all requests under way end with status 500, and what comes later is served.
class Service {
 public:
  // Both must outlive it.
  Service(engine::Engine& engine, const ServiceOptions& options, Metrics& metrics);
  // Ends what is under way.
  ~Service();

  // One request for each choice of an answer; their ids are the service's to give. With
  // `alternatives` >= 0 each token comes with its log probability and that many others. Throws
  // ApiError: 429 where the queue has no room for all of them, 503 once refuse_new() was called.
  Ticket submit(std::vector<engine::Request> requests, int32_t alternatives = -1);

  void refuse_new();
  [[nodiscard]] bool refuses_new() const;
  // Waits until nothing is under way. False: there still is something.
  bool wait_idle(std::chrono::milliseconds most) const;
  // Ends all that is under way with this status and reason.
  void end_all(int status, const std::string& reason);

 private:
  friend class Ticket;
  void cancel(std::span<const engine::RequestId> ids, const std::string& outcome);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::server
