// What a server counts, in the text form of Prometheus.
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
  // The engine's queue, batch and cache as they are now.
  void standing(int64_t waiting, int64_t running, int64_t used_bytes, int64_t total_bytes);
  // A request ended: `outcome` is "stop", "length", "cancelled", "deadline", "refused",
  // "slow_reader" or "error".
  void request(const std::string& outcome, const engine::TokenEvent& last, int64_t prompt_tokens,
               int64_t generated_tokens);
  void answer(int status);  // an HTTP answer was begun
  void connections(int64_t open);

  // Why this build counts nothing, with the remedy; "" where it does.
  [[nodiscard]] static std::string absence();
  // All of them; the text's content type is text/plain; version=0.0.4.
  [[nodiscard]] std::string text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace reprise::server
