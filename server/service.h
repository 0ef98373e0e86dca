// Runs an engine for the requests of many connections. The engine runs in a thread of the service,
// or in its owner's thread if the owner calls Service::turn().
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
#include "server/worker.h"

namespace reprise::server {

// Receives the steps and the ended requests of the service's engine. Called in the engine's thread
// between two steps, so it must be quick; it must not throw.
class ServiceObserver {
 public:
  virtual ~ServiceObserver() = default;
  virtual void step(const engine::StepReport& report) = 0;
  // A request has ended; `outcome` as in Metrics::request().
  virtual void ended(const std::string& outcome, const engine::TokenEvent& last,
                     int64_t prompt_tokens, int64_t generated_tokens) = 0;
};

struct ServiceOptions {
  int32_t most_requests = 256;  // waiting and running; each choice of an answer counts as a request
  // Most tokens per choice of an answer that wait for a slow client. If more tokens had to wait,
  // the answer is cut off.
  int32_t most_unread_tokens = 4096;
  // If false, the service has no thread, and its owner calls Service::turn().
  bool has_thread = true;
  ServiceObserver* observer = nullptr;  // must outlive the service; null: none
};

class Service;

// An answer under way. Its destructor cancels the requests that have not ended. The service must
// outlive it.
class Ticket {
 public:
  Ticket(Service& service, std::vector<engine::RequestId> ids, std::shared_ptr<Reply> reply);
  Ticket(Ticket&&) noexcept = default;
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket();

  [[nodiscard]] Reply& reply() const { return *reply_; }
  // Ends a choice in which a stop text was found. The metrics count the choice as "stop". But if
  // the engine has already drawn the choice's last token, they count the outcome that the engine
  // reports.
  void stop(size_t choice) const;

 private:
  Service* service_;
  std::vector<engine::RequestId> ids_;  // [choices]; empty once moved from
  std::shared_ptr<Reply> reply_;
};

// The service is thread-safe. While it exists, only it may use the engine.
//
// A request whose logits are NaN ends with status 500, and the other requests go on. If a step
// fails otherwise, all requests under way end with status 500, and later requests are served.
class Service final : public Worker {
 public:
  // Engine and metrics must outlive this.
  Service(engine::Engine& engine, const ServiceOptions& options, Metrics& metrics);
  // Ends all requests under way.
  ~Service() override;

  // Submits one request per choice of an answer; the service sets the requests' ids. If
  // `alternatives` >= 0, each token comes with its own log probability and those of `alternatives`
  // other tokens. With LogitsMode::kAll, tokens of the prompt come with log probabilities, too.
  // Throws ApiError: 429 if there is no room for all requests, 503 once refuse_new() was called.
  Ticket submit(std::vector<engine::Request> requests, int32_t alternatives = -1);

  void refuse_new() override;
  [[nodiscard]] bool refuses_new() const override;
  bool wait_idle(std::chrono::milliseconds most) const override;
  void end_all(int status, const std::string& reason) override;
  // Executes, in the caller's thread, the submissions and cancellations made so far, and runs one
  // step if there is work. Only for a service without a thread (CHECK), whose owner thus decides
  // when each step happens.
  void turn();

 private:
  friend class Ticket;
  void cancel(std::span<const engine::RequestId> ids, const std::string& outcome);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::server
