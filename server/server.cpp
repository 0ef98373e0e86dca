#include "server/server.h"

namespace reprise::server {
namespace {

// Time that is left, at the end of shut_down(), for the last bytes of answers to reach clients.
constexpr std::chrono::milliseconds kLastWords{2'000};

}  // namespace

Server::Server(engine::Engine& engine, const ServedModel& model, const ServerOptions& options)
    : services_{.generation = std::make_unique<Service>(engine, options.service, metrics_)},
      endpoints_(services_, model, metrics_, options.endpoints),
      http_(options.host, options.port, options.http, handler(), metrics_) {}

Server::Server(sentence::Embedder& embedder, const ServedModel& model, const ServerOptions& options)
    : services_{.embedding = std::make_unique<EmbeddingService>(
                    embedder, options.service.most_requests, metrics_)},
      endpoints_(services_, model, metrics_, options.endpoints),
      http_(options.host, options.port, options.http, handler(), metrics_) {}

HttpHandler Server::handler() {
  return {.check = [this](const HttpHead& head) { endpoints_.check(head); },
          .answer = [this](const HttpCall& call) { return endpoints_.answer(call); }};
}

void Server::shut_down(std::chrono::milliseconds grace) {
  service().refuse_new();
  if (!service().wait_idle(grace)) {
    service().end_all(503, "the server is shutting down, and this answer is not complete");
    (void)service().wait_idle(kLastWords);
  }
  http_.close(kLastWords);
}

}  // namespace reprise::server
