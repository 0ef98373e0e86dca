#include "server/server.h"

namespace reprise::server {
namespace {

// For the ends of answers to reach their clients.
constexpr std::chrono::milliseconds kLastWords{2'000};

}  // namespace

Server::Server(engine::Engine& engine, const ServedModel& model, const ServerOptions& options)
    : service_(engine, options.service, metrics_),
      endpoints_(service_, model, metrics_, options.endpoints),
      http_(options.host, options.port, options.http,
            {.check = [this](const HttpHead& head) { endpoints_.check(head); },
             .answer = [this](const HttpCall& call) { return endpoints_.answer(call); }},
            metrics_) {}

void Server::shut_down(std::chrono::milliseconds grace) {
  service_.refuse_new();
  if (!service_.wait_idle(grace)) {
    service_.end_all(503, "the server is shutting down, and this answer is not complete");
    (void)service_.wait_idle(kLastWords);
  }
  http_.close(kLastWords);
}

}  // namespace reprise::server
