// What a request's connection reads while the engine writes: tokens in a bounded queue.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/engine/request.h"
#include "server/logprobs.h"

namespace reprise::server {

// A token of one choice, or its end, or both.
struct Piece {
  int32_t choice = 0;
  int32_t token = -1;                  // -1: none
  std::vector<TokenLogprob> logprobs;  // as logprobs_of() gives them; empty: not asked for
  engine::FinishReason finish = engine::FinishReason::kNone;
  int32_t cached_tokens = 0;  // of the prompt; with the end
  // Why it ended before its time, and the HTTP status that says so. 0: it did not.
  int error_status = 0;
  std::string error;
};

// The engine's thread pushes and never waits; one connection waits and takes.
class Reply {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws Error where the system gives no more file descriptors.
  explicit Reply(size_t most_pieces);
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply();

  // False: nobody has read for too long, and the piece is dropped. One that ends a choice is always
  // taken.
  bool push(Piece piece);

  enum class Wake : uint8_t { kPieces, kPeerGone, kTimeout };
  // Waits for pieces, until the socket's other end closes (-1: no socket), or until a time.
  Wake wait(int socket, Clock::time_point until) const;
  // All that are there, oldest first.
  std::vector<Piece> take();

 private:
  const size_t most_pieces_;
  const int event_;  // readable while pieces are there
  std::mutex mutex_;
  std::vector<Piece> pieces_;  // guarded by mutex_
};

}  // namespace reprise::server
