// The interface of a service through which the server refuses new requests, waits for requests
// under way, and ends them. Services compute answers in other threads than those of the
// connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace reprise::server {

// The functions are thread-safe.
class Worker {
 public:
  virtual ~Worker() = default;

  virtual void refuse_new() = 0;
  [[nodiscard]] virtual bool refuses_new() const = 0;
  // Waits until no request is under way, but not longer than `most`. Returns false if a request is
  // still under way then.
  virtual bool wait_idle(std::chrono::milliseconds most) const = 0;
  // Ends all requests under way with this status and reason.
  virtual void end_all(int status, const std::string& reason) = 0;

 protected:
  // Throws ApiError: 503 if the service refuses new requests, 429 if `held` + `asked` requests are
  // more than `most`.
  static void check_room(bool refuses_new, int64_t held, int64_t asked, int64_t most);
};

}  // namespace reprise::server
