// A server on the loopback interface that sends scripted answers, byte by byte and at given times.
// The load client is tested and measured with it.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace reprise::server {

struct EchoRequest {
  std::string method, path, authorization, accept_encoding, body;
  int64_t number = 0;  // number of the request, from 0
};

// A piece of the answer, which is written `after_s` after the piece before it.
struct EchoPiece {
  double after_s = 0;
  std::string bytes;
};

struct EchoAnswer {
  int status = 200;
  std::vector<EchoPiece> pieces;  // pieces of the body, each sent as one chunk
  bool breaks_off = false;        // the connection is closed without the last chunk
  bool hangs_up = false;          // the connection is closed without a word
};

class EchoServer {
 public:
  using Script = std::function<EchoAnswer(const EchoRequest&)>;
  // Sees each piece of an answer right before it is written.
  using Observer = std::function<void(const EchoRequest&, size_t piece)>;
  // Listens on a free port of 127.0.0.1. `script` and `observer` are called from the connections'
  // threads.
  explicit EchoServer(Script script, Observer observer = {});
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;
  ~EchoServer();

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int64_t requests() const;
  [[nodiscard]] int64_t connections() const;  // number of connections made so far

 private:
  struct Connection {
    int socket = -1;
    std::thread thread;
  };
  void accept_all();
  void serve(int socket);
  bool write_answer(int socket, const EchoRequest& request, const EchoAnswer& answer) const;

  Script script_;
  Observer observer_;
  int listener_ = -1;
  int port_ = 0;
  std::thread acceptor_;
  mutable std::mutex mutex_;
  bool is_ending_ = false;  // guarded by mutex_, as are the next three
  std::list<Connection> connections_;
  int64_t requests_ = 0;
};

// The ways in which a server tells the number of tokens in an event.
enum class Telling : uint8_t { kNothing, kUsageAtEnd, kRunningUsage, kTokenIds, kLogprobs };

// An answer of `tokens` tokens, `per_event` of them in each event. The ids count from 0.
EchoAnswer completion(int64_t tokens, double first_s, double gap_s,
                      Telling telling = Telling::kTokenIds, int64_t per_event = 1,
                      int64_t prompt_tokens = 8, int64_t cached_tokens = -1);

// "max_tokens" of a request, -1 where there is none.
int64_t max_tokens_of(const EchoRequest& request);

// The list of one model, "echo".
EchoAnswer model_list();

}  // namespace reprise::server
