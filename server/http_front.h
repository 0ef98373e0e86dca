// HTTP/1.1 on one connection: bounds that hold before a handler is asked, and answers in the API's
// form.
#pragma once

#include <atomic>
#include <memory>

#include "server/connection.h"
#include "server/http.h"
#include "server/metrics.h"

namespace reprise::server {

class HttpFront {
 public:
  // `metrics` must outlive it.
  HttpFront(const HttpLimits& limits, HttpHandler handler, Metrics& metrics);
  ~HttpFront();

  // Serves one connection until it ends: requests one after another. `is_busy` holds while one is
  // being answered; once `is_closing` holds, the connection ends with the answer under way. The
  // socket stays the caller's.
  void serve(int socket, std::atomic<bool>& is_busy, const std::atomic<bool>& is_closing);
  // Tells a connection that there are too many, without waiting for it.
  static void turn_away(int socket);

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace reprise::server
