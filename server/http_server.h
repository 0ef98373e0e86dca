// HTTP/1.1 on an address, with bounds that hold before a handler is asked and errors in the API's
// form.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "server/http.h"
#include "server/metrics.h"

namespace reprise::server {

struct HttpLimits {
  int most_connections = 1024;
  size_t most_body_bytes = size_t{2} << 20;
  size_t all_body_bytes = size_t{256} << 20;  // of all requests that are being read or answered
  size_t most_header_bytes = size_t{32} << 10;
  int most_headers = 100;
  std::chrono::milliseconds head_timeout{10'000};   // for a request's line and headers
  std::chrono::milliseconds body_timeout{30'000};   // for its body
  std::chrono::milliseconds idle_timeout{30'000};   // for the next request of a connection
  std::chrono::milliseconds write_timeout{10'000};  // for each piece of an answer
};

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
