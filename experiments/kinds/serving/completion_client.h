// One connection to an OpenAI-compatible server.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "experiments/kinds/serving/completion_stream.h"
#include "experiments/serving/clock.h"

namespace reprise::server {

// Where a server is, and how long it is waited for.
struct ServerPlace {
  std::string url;  // http://HOST[:PORT] or https://, with or without a path (/v1)
  std::string api_key;
  double connect_timeout_s = 10;
  double silence_timeout_s = 120;  // no byte for so long
  double request_timeout_s = 600;  // from sending it to its end
};

// "http://127.0.0.1:8000" and "/v1" of the former's URL, which is where the API begins: "/v1" is
// added to a URL without it. Throws Error, with what is accepted, for one that is no HTTP URL.
struct ServerUrl {
  std::string origin, api;
};
[[nodiscard]] ServerUrl parse_server_url(const std::string& url);

struct Exchange {
  double sent_s = -1;  // when it was begun to be written
  double end_s = 0;    // when its last byte was read, or it failed
  int status = 0;      // HTTP; 0: there was no answer
  CompletionAnswer answer;
  // Why it did not end as an answer with status 200 should: "status 503: ...", "Could not establish
  // connection", "silent for 120 s"; "": it did.
  std::string error;
};

// Of a request that was not sent, because everything is given up.
[[nodiscard]] Exchange given_up(double now_s);

// Not thread-safe but for interrupt(). Keeps its connection open between requests.
class CompletionClient {
 public:
  // Throws Error for a URL that is none.
  CompletionClient(const ServerPlace& place, const experiments::serving::Clock& clock);
  ~CompletionClient();

  // Posts a request to <api>/completions that asks for a stream, and reads that to its end. Times
  // are of the clock, those of tokens taken as their bytes arrive, before they are read. Gives up
  // between two reads once `cancel` is raised.
  Exchange complete(const std::string& body, const std::atomic<bool>& cancel);
  // The body of GET <api>/models. Throws Error naming the URL where there is no server or no answer
  // with status 200, and for 401 and 403 with --api-key as the remedy; "" where there are no models
  // to list (404).
  std::string models();
  void close();
  // Ends complete() soon; from any thread.
  void interrupt();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reprise::server
