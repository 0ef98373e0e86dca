// One connection to an OpenAI-compatible server.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/base/interrupted.h"
#include "experiments/kinds/serving/completion_stream.h"
#include "experiments/serving/clock.h"

namespace reprise::server {

// The address of a server, and the timeouts.
struct ServerPlace {
  // http://HOST[:PORT], or https:// in a build with TLS; with or without a path (/v1)
  std::string url;
  std::string api_key;
  double connect_timeout_s = 10;
  double silence_timeout_s = 120;  // longest wait for the next byte
  double request_timeout_s = 600;  // from sending a request to its end
};

// The parts of a server's URL, such as origin "http://127.0.0.1:8000" and api "/v1", which is added
// unless the URL ends with it. parse_server_url() throws Error with the accepted forms for an
// invalid URL, and for https:// if httplib was built without OpenSSL.
struct ServerUrl {
  std::string origin, api;
};
[[nodiscard]] ServerUrl parse_server_url(const std::string& url);

struct Question {
  std::string path;  // follows ServerUrl::api: "/completions", "/chat/completions"
  std::string body;
  int64_t wanted = 0;  // tokens that the body asks for
};

struct Exchange {
  double sent_s = -1;  // when writing the request began; -1: never
  double end_s = 0;    // when the answer's last byte was read, or the exchange failed
  int status = 0;      // HTTP; 0: there was no answer
  CompletionAnswer answer;
  // The reason why there is no complete answer with status 200; "" if there is one. Examples:
  // "status 503: ...", "Could not establish connection", "silent for 120 s".
  std::string error;
};

// The exchange of a request that is not sent because the run was cancelled.
[[nodiscard]] Exchange given_up(double now_s);

// Keeps its connection open between requests. Not thread-safe except for interrupt().
class CompletionClient {
 public:
  // Throws Error for an invalid URL.
  CompletionClient(const ServerPlace& place, const experiments::serving::Clock& clock);
  ~CompletionClient();

  // Posts a streaming request and reads the stream to its end. Times are those of the constructor's
  // clock; a token's time is taken when its bytes arrive, before they are parsed. Gives up between
  // two reads if `cancel` is set. Calls `on_first_token` when the first token has come, unless the
  // answer has none.
  Exchange complete(const Question& question, const std::atomic<bool>& cancel,
                    const std::function<void()>& on_first_token = {});
  // Returns the body of GET <api>/models; "" if the server has no such list (404, 405, 501), or
  // forbids it (403) and `is_named`, that is, the user named the model. Throws Error naming the URL
  // if there is no server, or for any other status than 200. The error for 401 and 403 names the
  // remedies.
  std::string models(bool is_named);
  // Returns the body of GET <origin><path>, with a path such as "/metrics"; "" if there is no
  // answer with status 200.
  std::string page(const std::string& path);
  void close();
  // Makes the exchange under way end soon. Can be called from any thread.
  void interrupt();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// While this exists, a thread of its own interrupts `client` as long as `stop` is set.
class StopWatcher {
 public:
  StopWatcher(CompletionClient& client, const std::atomic<bool>& stop);

 private:
  std::jthread thread_;
};

// Returns call(), which uses `client`. Once `stop` is set, ends the call soon and throws
// Interrupted. Connecting to a server is not interrupted.
template <typename Call>
auto interruptible(CompletionClient& client, const std::atomic<bool>& stop, Call&& call) {
  const StopWatcher watcher(client, stop);
  try {
    auto result = call();
    if (!stop) return result;
  } catch (const Error&) {
    if (!stop) throw;
  }
  throw Interrupted{};
}

}  // namespace reprise::server
