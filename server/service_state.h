// The insides of the service: what connections hand over, and what the engine's thread does with
// it.
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
  // A request in the engine's hands.
  struct Flight {
    std::shared_ptr<Reply> reply;
    int32_t choice = 0;
    int32_t alternatives = -1;
    int64_t prompt_tokens = 0, generated = 0;
    std::vector<float> logits;  // [vocab] of the row that the next token is drawn from
    // How the service ended it, "": it did not.
    std::string outcome;
    std::string error;     // what its reader is told, with a status
    int error_status = 0;  // 0: no error
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
    int status = 0;  // 0: nobody asked
    std::string reason;
  };

  engine::Engine& engine;
  const ServiceOptions options;
  Metrics& metrics;
  const int64_t total_kv_bytes;

  std::mutex mutex;
  std::condition_variable work;    // for the engine's thread
  std::condition_variable idle;    // in_flight fell to 0
  std::vector<Incoming> incoming;  // guarded by mutex
  std::vector<Cancel> cancels;     // guarded by mutex
  EndAll end_all;                  // guarded by mutex
  int32_t in_flight = 0;           // guarded by mutex; requests handed over and not ended
  engine::RequestId next_id = 0;   // guarded by mutex
  bool refuses_new = false;        // guarded by mutex
  bool stops = false;              // guarded by mutex

  // Of the engine's thread alone.
  std::unordered_map<engine::RequestId, Flight> flights;
  std::thread thread;

  State(engine::Engine& e, const ServiceOptions& o, Metrics& m);

  void run();
  // False: it is time to stop.
  bool take_orders();
  void start(Incoming one);
  // Ends a request that the engine did not take.
  void end_unstarted(engine::RequestId id, const std::string& reason);
  void cancel(const Cancel& one);
  void step();
  void tell(const engine::TokenEvent& event);
  void finish(const engine::TokenEvent& last, Flight& flight, Piece piece);
  // The request ends with an error instead of what the engine will say of it.
  void fail(engine::RequestId id, int status, const std::string& outcome,
            const std::string& reason);
  void fail_all(int status, const std::string& reason);
  void show_standing(const engine::StepReport& report) const;
};

}  // namespace reprise::server
