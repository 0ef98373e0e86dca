// The endpoints of the API: answers each request according to its path and HTTP method.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "server/embedding_service.h"
#include "server/generation_request.h"
#include "server/http.h"
#include "server/metrics.h"
#include "server/service.h"

namespace reprise::server {

// The services of a server. Exactly one is set: `embedding` if the model makes sentence vectors,
// otherwise `generation`.
struct Services {
  std::unique_ptr<Service> generation;
  std::unique_ptr<EmbeddingService> embedding;

  [[nodiscard]] Worker& worker() const {
    return embedding ? static_cast<Worker&>(*embedding) : *generation;
  }
};

struct EndpointOptions {
  // The key that /v1/... and every POST require, as "Authorization: Bearer KEY". "": no key is
  // required.
  std::string api_key;
  // Time from the last byte of a request to the end of its answer.
  std::chrono::milliseconds request_timeout{600'000};
};

// Has these endpoints:
//   POST /v1/completions, /v1/chat/completions    with Services::generation
//   POST /v1/embeddings                           with Services::embedding
//   POST /tokenize, /detokenize
//   GET /v1/models[/NAME], /health, /metrics
//
// Thread-safe.
class Endpoints {
 public:
  // Services, model and metrics must outlive this.
  Endpoints(const Services& services, const ServedModel& model, Metrics& metrics,
            EndpointOptions options);
  ~Endpoints();

  // Throws ApiError: 404 for an unknown path, or a path that needs the service that is null; 405
  // for an HTTP method that the path does not have; 401 without the key; 415 for a POST whose
  // content type is not application/json.
  void check(const HttpHead& head) const;
  // Answers a request. Throws ApiError, or PeerGone if the client has closed its connection.
  HttpAnswer answer(const HttpCall& call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Compares two texts in a time that does not depend on where they differ.
[[nodiscard]] bool equal_in_constant_time(const std::string& a, const std::string& b);

}  // namespace reprise::server
