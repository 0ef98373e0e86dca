// The whole server: an engine's service behind the endpoints, on an address.
#pragma once

#include <chrono>
#include <string>

#include "server/endpoints.h"
#include "server/http_server.h"
#include "server/metrics.h"
#include "server/service.h"

namespace reprise::server {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8000;  // 0: one that is free
  HttpLimits http;
  ServiceOptions service;
  EndpointOptions endpoints;
};

class Server {
 public:
  // Serves from here on. Engine and model must outlive it. Throws Error as HttpServer().
  Server(engine::Engine& engine, const ServedModel& model, const ServerOptions& options);

  [[nodiscard]] int port() const { return http_.port(); }
  [[nodiscard]] Service& service() { return service_; }
  // Refuses what comes from now on (503), lets answers under way end for at most `grace`, and ends
  // the rest with an error that says so. Returns once every connection is closed.
  void shut_down(std::chrono::milliseconds grace);

 private:
  Metrics metrics_;
  Service service_;
  Endpoints endpoints_;
  HttpServer http_;
};

}  // namespace reprise::server
