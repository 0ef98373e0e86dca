// What the server answers, by path.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "server/generation_request.h"
#include "server/http.h"
#include "server/metrics.h"
#include "server/service.h"

namespace reprise::server {

struct EndpointOptions {
  std::string api_key;  // that /v1/... asks for as "Authorization: Bearer KEY"; "": none
  std::chrono::milliseconds request_timeout{600'000};  // from the request's arrival to its end
};

//   POST /v1/completions, /v1/chat/completions     GET /v1/models[/NAME], /health, /metrics
//
// Thread-safe.
class Endpoints {
 public:
  // All must outlive it.
  Endpoints(Service& service, const ServedModel& model, Metrics& metrics, EndpointOptions options);
  ~Endpoints();

  // Throws ApiError: 404 for another path, 405 for another method of a path, 401 without the key,
  // 415 for a body that does not say that it is JSON.
  void check(const HttpHead& head) const;
  // Throws ApiError, and PeerGone.
  HttpAnswer answer(const HttpCall& call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether two texts are equal, in a time that does not depend on where they differ.
[[nodiscard]] bool equal_in_constant_time(const std::string& a, const std::string& b);

}  // namespace reprise::server
