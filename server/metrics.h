// The metrics of a server, in Prometheus' text format.
#pragma once

#include <memory>
#include <string>

#include "core/engine/engine.h"

namespace reprise::server {

// Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  void step(const engine::StepReport& report);
  // Sets the gauges: requests that wait in the engine's queue, requests that run in its batch, and
  // the used and total bytes of its cache.
  void standing(int64_t waiting, int64_t running, int64_t used_bytes, int64_t total_bytes);
  // Counts a request that has ended. `outcome` is "stop", "length", "cancelled", "refused",
  // "slow_reader" or "error".
  void request(const std::string& outcome, const engine::TokenEvent& last, int64_t prompt_tokens,
               int64_t generated_tokens);
  void answer(int status);  // counts an HTTP answer; 499 if the client closed the connection before
  void connections(int64_t open);

  // The reason why this build counts nothing, with the remedy; "" if it counts.
  [[nodiscard]] static std::string absence();
  // All metrics, as content type "text/plain; version=0.0.4".
  [[nodiscard]] std::string text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace reprise::server
