// The private state of Service. Connections give orders: new requests, cancellations, or the end of
// all requests. The engine's thread executes the orders. If ServiceOptions::has_thread is false,
// "the engine's thread" means the thread of the service's owner.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "server/service.h"

namespace reprise::server {

struct Service::State {
  // A request that was handed to the engine.
  struct Flight {
    std::shared_ptr<Reply> reply;
    int32_t choice = 0;
    int32_t alternatives = -1;
    int64_t prompt_tokens = 0, generated = 0;
    // Used only if the prompt's log probabilities are wanted (LogitsMode::kAll): the prompt's
    // tokens, and the log probabilities of all but the first token, until they are reported.
    std::vector<int32_t> prompt = {};
    std::vector<std::vector<TokenLogprob>> prompt_logprobs = {};  // [prompt - 1]
    std::vector<float> logits;  // [vocab]  logits from which the next token is drawn
    // The outcome for the metrics if the service ended the request; "" if the engine ends it.
    std::string outcome;
    std::string error;     // message for the client
    int error_status = 0;  // HTTP status of the error; 0: no error
  };
  struct Incoming {
    engine::Request request;
    Flight flight;
  };
  struct Cancel {
    engine::RequestId id = 0;
    std::string outcome;
  };
  struct EndAll {
    int status = 0;  // 0: not requested
    std::string reason;
  };

  engine::Engine& engine;
  const ServiceOptions options;
  Metrics& metrics;
  const int64_t total_kv_bytes;

  std::mutex mutex;
  std::condition_variable work;    // wakes the engine's thread
  std::condition_variable idle;    // notified when in_flight falls to 0
  std::vector<Incoming> incoming;  // guarded by mutex
  std::vector<Cancel> cancels;     // guarded by mutex
  EndAll end_all;                  // guarded by mutex
  int32_t in_flight = 0;           // guarded by mutex; requests submitted and not ended
  engine::RequestId next_id = 0;   // guarded by mutex
  bool refuses_new = false;        // guarded by mutex
  bool stops = false;              // guarded by mutex

  // Used by the engine's thread alone.
  std::unordered_map<engine::RequestId, Flight> flights;
  std::thread thread;

  State(engine::Engine& e, const ServiceOptions& o, Metrics& m);

  void run();
  // Waits until there are orders or the engine has work, then calls pass_orders(). Returns false if
  // the service stops.
  bool take_orders();
  // Passes the orders given so far to the engine.
  void pass_orders();
  // Receives a row of logits during a step. Throws BadLogits if a prompt token's log probability is
  // computed from the row, and the row has a NaN.
  void observe(const engine::LogitsRow& row);
  void start(Incoming one);
  void cancel(const Cancel& one);
  void step();
  void tell(const engine::TokenEvent& event);
  void finish(const engine::TokenEvent& last, Flight& flight, Piece piece);
  // Ends a request with an error, which replaces the outcome that the engine will report. If the
  // service has ended the request already, its first outcome stays.
  void fail(engine::RequestId id, int status, const std::string& outcome,
            const std::string& reason);
  void fail_all(int status, const std::string& reason);
  void show_standing(const engine::StepReport& report) const;
};

}  // namespace reprise::server
