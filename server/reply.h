// A bounded queue of tokens that the engine's thread writes and a request's connection reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/engine/request.h"
#include "server/logprobs.h"

namespace reprise::server {

// A token of one choice, the end of the choice, or both.
struct Piece {
  int32_t choice = 0;
  int32_t token = -1;                  // -1: none
  std::vector<TokenLogprob> logprobs;  // the result of logprobs_of(); empty: not asked for
  // Log probabilities of the prompt's tokens from the second on. Only a choice's first piece has
  // them, and only if they were asked for.
  std::vector<std::vector<TokenLogprob>> prompt_logprobs = {};
  engine::FinishReason finish = engine::FinishReason::kNone;
  int32_t cached_tokens = 0;  // prompt tokens found in the cache; set only at the end
  // HTTP status and message if the choice ended with an error; 0 if not.
  int error_status = 0;
  std::string error;
};

// The queue. The engine's thread pushes and never waits; one connection's thread waits and takes.
class Reply {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws Error if the system gives no more file descriptors.
  explicit Reply(size_t most_pieces);
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply();

  // Adds a piece. If the queue is full and the piece does not end a choice, drops it and returns
  // false.
  bool push(Piece piece);

  enum class Wake : uint8_t { kPieces, kPeerGone, kTimeout };
  // Waits until there are pieces, the other end of `socket` (-1: none) closes, or `until` is
  // reached.
  Wake wait(int socket, Clock::time_point until) const;
  // Removes and returns all pieces, oldest first.
  std::vector<Piece> take();

 private:
  const size_t most_pieces_;
  const int event_;  // eventfd that is readable while there are pieces
  std::mutex mutex_;
  std::vector<Piece> pieces_;  // guarded by mutex_
};

}  // namespace reprise::server
