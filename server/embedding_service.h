// Computes sentence vectors for the requests of many connections, in one thread of its own.
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
// A step of the model computes texts of one request only, and takes as many as Embedder::read()
// would. So a vector does not depend on other requests. After each step another request may have
// its turn, so a short request need not wait until a longer request is finished.
class EmbeddingService final : public Worker {
 public:
  // `most_requests`: most requests that are held at once, waiting and running. `embedder` and
  // `metrics` must outlive this object.
  EmbeddingService(sentence::Embedder& embedder, int32_t most_requests, Metrics& metrics);
  // Ends all requests under way.
  ~EmbeddingService() override;

  [[nodiscard]] const sentence::Embedder& embedder() const;
  // Computes the vectors of `texts` and waits for them: [texts, width] f32, in order. Throws
  // ApiError: 429 if the service holds `most_requests` requests, 503 once refuse_new() was called,
  // 408 if `until` is reached, 500 if a vector is not finite. Throws PeerGone if the other end of
  // `socket` (-1: none) closes.
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
