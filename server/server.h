// The whole server: the HTTP server, the endpoints and the service of one engine or embedder.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "server/embedding_service.h"
#include "server/endpoints.h"
#include "server/http_server.h"
#include "server/metrics.h"
#include "server/service.h"

namespace reprise::server {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8000;  // 0: a free port is chosen
  HttpLimits http;
  ServiceOptions service;
  EndpointOptions endpoints;
};

class Server {
 public:
  // Starts to serve. Engine and model must outlive this. Throws Error as HttpServer().
  Server(engine::Engine& engine, const ServedModel& model, const ServerOptions& options);
  // Starts to serve sentence vectors instead of generated text. Embedder and model must outlive
  // this. Throws Error as HttpServer().
  Server(sentence::Embedder& embedder, const ServedModel& model, const ServerOptions& options);

  [[nodiscard]] int port() const { return http_.port(); }
  [[nodiscard]] Worker& service() { return services_.worker(); }
  // Refuses new requests (503), waits for answers under way for at most `grace`, and ends the
  // remaining answers with an error. Returns once every connection is closed.
  void shut_down(std::chrono::milliseconds grace);

 private:
  HttpHandler handler();

  Metrics metrics_;
  Services services_;
  Endpoints endpoints_;
  HttpServer http_;
};

}  // namespace reprise::server
