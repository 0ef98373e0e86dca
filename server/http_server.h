// Listens on an address and gives each connection a thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "server/connection.h"
#include "server/http.h"
#include "server/metrics.h"

namespace reprise::server {

class HttpServer {
 public:
  // Listens from here on. `port` 0: one that is free. `metrics` must outlive it. Throws Error
  // naming the address where it cannot be listened on.
  HttpServer(const std::string& host, int port, const HttpLimits& limits, HttpHandler handler,
             Metrics& metrics);
  // As close(), without waiting.
  ~HttpServer();

  [[nodiscard]] int port() const;
  // Takes no more connections, answers the requests that have arrived, lets answers under way end
  // for at most this long, and cuts off the rest.
  void close(std::chrono::milliseconds most);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::server
