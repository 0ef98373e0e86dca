// Computes sentence vectors for requests of many connections, in a thread of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/sentence/embedder.h"
#include "server/metrics.h"
#include "server/reply.h"
#include "server/worker.h"

namespace reprise::server {

// The service is thread-safe. While it exists, only it may call Embedder::read().
//
// A request's texts go through the model in steps of their own, as Embedder::read() divides them,
// so a vector does not depend on other requests. After each step another request may have its turn,
// so a short request waits only for steps of longer requests, not for their end.
class EmbeddingService final : public Worker {
 public:
  // `most_requests` are held at once, waiting and running. Embedder and metrics must outlive this.
  EmbeddingService(sentence::Embedder& embedder, int32_t most_requests, Metrics& metrics);
  // Ends all requests under way.
  ~EmbeddingService() override;

  [[nodiscard]] const sentence::Embedder& embedder() const;
  // Waits for the vectors of `texts`: [texts, width] f32, in order. Throws ApiError: 429 if the
  // service holds most_requests, 503 once refuse_new() was called, 408 at `until`, 500 if a vector
  // is not finite; PeerGone if the other end of `socket` (-1: none) closes.
  std::vector<float> vectors_of(std::vector<sentence::TextTokens> texts, int socket,
                                Reply::Clock::time_point until);

  void refuse_new() override;
  [[nodiscard]] bool refuses_new() const override;
  bool wait_idle(std::chrono::milliseconds most) const override;
  void end_all(int status, const std::string& reason) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::server
