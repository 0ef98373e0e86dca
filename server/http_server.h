// An HTTP/1.1 server on one address. It refuses requests beyond HttpLimits before it calls the
// handler, and writes errors in the API's form.
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
  size_t all_body_bytes = size_t{256} << 20;  // sum of all bodies being read or answered
  size_t most_header_bytes = size_t{32} << 10;
  int most_headers = 100;
  std::chrono::milliseconds head_timeout{10'000};   // to read a request's line and headers
  std::chrono::milliseconds body_timeout{30'000};   // to read a request's body
  std::chrono::milliseconds idle_timeout{30'000};   // to wait for a connection's next request
  std::chrono::milliseconds write_timeout{10'000};  // to write a piece of at most 64 KiB
};

class HttpServer {
 public:
  // Starts to listen. `port` 0 chooses a free port. `metrics` must outlive this. Throws Error
  // naming the address if it cannot listen there.
  HttpServer(const std::string& host, int port, const HttpLimits& limits, HttpHandler handler,
             Metrics& metrics);
  // Closes all connections without waiting for answers under way.
  ~HttpServer();

  [[nodiscard]] int port() const;
  // Accepts no more connections and answers the requests that have arrived. Waits for answers under
  // way for at most `most`, and then cuts them off.
  void close(std::chrono::milliseconds most);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::server
