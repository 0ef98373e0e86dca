#include "app/server_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "app/interrupt.h"
#include "app/output.h"
#include "app/unit_option.h"
#include "core/base/descriptors.h"
#include "core/base/error.h"
#include "server/served_model.h"

namespace reprise::app {
namespace {

// Reports the name of each unknown field once, and at most a hundred names.
class UnknownFields {
 public:
  void tell(const std::string& name) {
    constexpr size_t kMost = 100;
    const std::scoped_lock lock(mutex_);
    if (told_.size() < kMost && told_.insert(name.substr(0, 100)).second)
      note("note: requests name a field \"{}\", which is not known here and passed over\n",
           name.substr(0, 100));
  }

 private:
  std::mutex mutex_;
  std::set<std::string> told_;  // guarded by mutex_
};

// Reduces the number of connections to what the system's limit on file descriptors allows. With
// more connections, a connection would wait for a descriptor, or its answer would fail.
void fit_connections(server::HttpLimits& http) {
  constexpr int kEach = 2;  // its socket, and the event of an answer under way
  const int64_t wanted = kOtherDescriptors + int64_t{kEach} * http.most_connections;
  const int64_t given = raise_descriptor_limit(wanted);
  if (given >= wanted) return;
  const int64_t fitting = (given - kOtherDescriptors) / kEach;
  if (fitting < 1)
    raise(
        "the system gives {} file descriptors, a server takes {} at least: raise the limit with "
        "ulimit -n",
        given, kOtherDescriptors + kEach);
  note(
      "note: --max-connections {} takes {} file descriptors, the system gives {} (ulimit -n): at "
      "most {} connections are taken\n",
      http.most_connections, wanted, given, fitting);
  http.most_connections = static_cast<int>(fitting);
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

void tell_start(const ServeOptions& options, const server::ServedModel& model,
                const std::string& facts, int port) {
  note("{}", facts);
  const std::string& host = options.serving.host;
  if (!is_loopback(host) && options.api_key.empty() && options.api_key_file.empty())
    note(
        "note: everyone who can reach {} may use this server; --api-key-file FILE makes it ask for "
        "a key\n",
        host);
  const std::string in_url = host.find(':') == std::string::npos ? host : "[" + host + "]";
  print("serving {} at http://{}:{}/v1\n", model.name, in_url, port);
  flush_output();
}

}  // namespace

server::ServerOptions server_options(const ServeOptions& options) {
  server::ServerOptions made = options.serving;
  made.endpoints.api_key = api_key_of(options);
  made.endpoints.request_timeout = std::chrono::seconds(options.request_timeout_s);
  if (!options.body_limit.empty()) {
    server::HttpLimits& http = made.http;
    http.most_body_bytes = static_cast<size_t>(parse_bytes(options.body_limit, "--max-body"));
    if (http.most_body_bytes == 0) raise("--max-body is 0: give what a request may have");
    http.all_body_bytes = std::max(http.all_body_bytes, 4 * http.most_body_bytes);
  }
  fit_connections(made.http);
  return made;
}

void run_server(const ServeOptions& options, server::ServedModel& model, const std::string& facts,
                const std::function<std::unique_ptr<server::Server>()>& start) {
  UnknownFields unknown;
  model.on_unknown_field = [&](const std::string& name) { unknown.tell(name); };
  const std::atomic<bool>& stop = watch_interrupts();
  const std::unique_ptr<server::Server> server = start();
  tell_start(options, model, facts, server->port());
  constexpr std::chrono::milliseconds kLook{50};  // a signal handler cannot wake a waiting thread
  while (!stop) std::this_thread::sleep_for(kLook);
  note("shutting down: answers under way have {} s\n", options.grace_s);
  server->shut_down(std::chrono::seconds(options.grace_s));
}

server::ServedModel served_model_of(const ServeOptions& options, const ChosenModel& chosen,
                                    const Tokenizer& tokenizer) {
  server::ServedModel model =
      server::served_model(chosen.config, tokenizer, chosen.place, options.chat_template);
  if (!options.served_name.empty()) model.name = options.served_name;
  return model;
}

}  // namespace reprise::app
