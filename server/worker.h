// The part of a service that the server uses to refuse, await and end requests. Services compute
// answers in threads of their own.
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
  // Waits until no request is under way, for at most `most`. Returns false if one still is.
  virtual bool wait_idle(std::chrono::milliseconds most) const = 0;
  // Ends all requests under way with this status and reason.
  virtual void end_all(int status, const std::string& reason) = 0;

 protected:
  // Throws ApiError: 503 if the service refuses new requests, 429 if `held` + `asked` requests are
  // more than `most`.
  static void check_room(bool refuses_new, int64_t held, int64_t asked, int64_t most);
};

}  // namespace reprise::server
