#include "experiments/kinds/serving/completion_client.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>

#include "core/base/error.h"
#include "core/base/visible.h"

namespace reprise::server {
namespace {

constexpr double kAtOnce_s = 0.1;
constexpr double kNearly = 0.99;  // share of a timeout, as HTTP's are rounded down to milliseconds
constexpr std::chrono::milliseconds kLookAgain{20};  // from one look at `stop` to the next
constexpr const char* kGivenUp = "given up with the run";
constexpr size_t kLongestErrorBody = 64 << 10;

struct Span {
  time_t seconds, microseconds;
};
Span span(double seconds) {
  const double whole = std::floor(seconds);
  return {static_cast<time_t>(whole), static_cast<time_t>((seconds - whole) * 1e6)};
}

}  // namespace

ServerUrl parse_server_url(const std::string& url) {
  const auto refuse = [&](const char* what) {
    raise("\"{}\" {}: give the server as http://HOST:PORT, as in http://127.0.0.1:8000", url, what);
  };
  const size_t host = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  if (host == 0) refuse("is no HTTP URL");
#ifndef CPPHTTPLIB_OPENSSL_SUPPORT
  if (url.starts_with("https://"))
    raise(
        "\"{}\": this program was built without TLS. Run a local proxy in front of the server, and "
        "give the proxy's address, such as http://127.0.0.1:8000",
        url);
#endif
  const size_t slash = url.find('/', host);
  ServerUrl parsed{.origin = url.substr(0, slash),
                   .api = slash == std::string::npos ? "" : url.substr(slash)};
  const std::string authority = parsed.origin.substr(host);
  if (authority.empty() || authority.front() == ':') refuse("names no host");
  for (const unsigned char c : url)
    if (c <= 0x20 || c == 0x7F) refuse("has a space or control character");
  if (url.find_first_of("?#@", host) != std::string::npos)
    refuse("has a query, a fragment or a user name");
  const size_t bracket = authority.rfind(']');  // end of an IPv6 address
  const size_t colon = authority.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon != std::string::npos) {
    const std::string port = authority.substr(colon + 1);
    if (port.empty() || port.size() > 5 ||
        port.find_first_not_of("0123456789") != std::string::npos || std::stoi(port) < 1 ||
        std::stoi(port) > 65535)
      refuse("has a port that is none (1 to 65535)");
  }
  while (parsed.api.ends_with('/')) parsed.api.pop_back();
  if (!parsed.api.ends_with("/v1")) parsed.api += "/v1";
  return parsed;
}

Exchange given_up(double now_s) {
  Exchange exchange;
  exchange.end_s = now_s;
  exchange.error = kGivenUp;
  return exchange;
}

struct CompletionClient::State {
  State(const ServerPlace& where, const experiments::serving::Clock& with_clock)
      : place(where), url(parse_server_url(where.url)), clock(with_clock), client(url.origin) {
    const Span connect = span(place.connect_timeout_s), silence = span(place.silence_timeout_s);
    const Span read = span(std::min(place.silence_timeout_s, place.request_timeout_s));
    client.set_connection_timeout(connect.seconds, connect.microseconds);
    client.set_read_timeout(read.seconds, read.microseconds);
    client.set_write_timeout(silence.seconds, silence.microseconds);
    client.set_keep_alive(true);
    client.set_tcp_nodelay(true);
    client.set_decompress(false);
    // From version 0.18.2 on, httplib asks for compressed answers by itself. A server may also
    // compress an answer if the request does not name an encoding.
    client.set_default_headers({{"Accept-Encoding", "identity"}});
    if (!place.api_key.empty()) client.set_bearer_token_auth(place.api_key.c_str());
  }

  [[nodiscard]] std::string no_end() const {
    return fmt::format("no end within {:g} s", place.request_timeout_s);
  }

  // Returns the reason why no complete answer was read.
  [[nodiscard]] std::string transport_error(httplib::Error error, double silent_s, double lasted_s,
                                            bool is_cancelled) const {
    if (is_cancelled) return kGivenUp;
    if (lasted_s >= kNearly * place.request_timeout_s) return no_end();
    if (error == httplib::Error::Read && silent_s >= kNearly * place.silence_timeout_s)
      return fmt::format("silent for {:g} s", place.silence_timeout_s);
    if (error == httplib::Error::Read) return "the server closed the connection";
    return httplib::to_string(error);
  }

  ServerPlace place;
  ServerUrl url;
  const experiments::serving::Clock& clock;
  httplib::Client client;
  bool is_kept = false;  // the connection has served a request
};

CompletionClient::CompletionClient(const ServerPlace& place,
                                   const experiments::serving::Clock& clock)
    : state_(std::make_unique<State>(place, clock)) {}
CompletionClient::~CompletionClient() = default;

Exchange CompletionClient::complete(const Question& question, const std::atomic<bool>& cancel,
                                    const std::function<void()>& on_first_token) {
  State& s = *state_;
  Exchange exchange;
  CompletionStream stream;
  std::string error_body;
  double last_s = 0;
  httplib::Request request;
  request.method = "POST";
  request.path = s.url.api + question.path;
  request.body = question.body;
  request.set_header("Content-Type", "application/json");
  request.set_header("Accept", "text/event-stream");
  request.response_handler = [&](const httplib::Response& response) {
    exchange.status = response.status;
    last_s = s.clock.now_s();
    return !cancel;
  };
  request.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
    last_s = s.clock.now_s();
    if (exchange.status == 200) {
      const bool had_token = stream.has_token();
      stream.feed({data, size}, last_s);
      if (on_first_token && stream.has_token() && !had_token) on_first_token();
    } else if (error_body.size() < kLongestErrorBody) {
      error_body.append(data, size);
    }
    return !cancel && last_s - exchange.sent_s < s.place.request_timeout_s;
  };
  httplib::Response response;
  httplib::Error error = httplib::Error::Success;
  if (cancel) return given_up(s.clock.now_s());
  exchange.sent_s = last_s = s.clock.now_s();
  bool is_ok = s.client.send(request, response, error);
  // A server may close a kept connection while a request is on its way. Then the server has not
  // read the request, and it is sent again on a new connection.
  const bool failed_at_once = !is_ok && s.clock.now_s() - exchange.sent_s < kAtOnce_s;
  if (failed_at_once && s.is_kept && exchange.status == 0 && !cancel) {
    s.client.stop();
    is_ok = s.client.send(request, response, error);
  }
  s.is_kept = is_ok;
  exchange.end_s = s.clock.now_s();
  const double lasted_s = exchange.end_s - exchange.sent_s;
  const bool is_whole = is_ok || stream.is_done();  // the connection may break after "[DONE]"
  exchange.answer = stream.take(question.wanted, is_ok);
  if (exchange.status != 0 && exchange.status != 200)
    exchange.error = fmt::format("status {}: {}", exchange.status, error_text(error_body));
  else if (!exchange.answer.fault.empty())
    exchange.error = exchange.answer.fault;
  else if (!is_whole)
    exchange.error = s.transport_error(error, exchange.end_s - last_s, lasted_s, cancel);
  else if (lasted_s >= s.place.request_timeout_s)
    exchange.error = s.no_end();
  if (!is_ok) close();
  return exchange;
}

std::string CompletionClient::models(bool is_named) {
  State& s = *state_;
  const auto result = s.client.Get((s.url.api + "/models").c_str());
  if (!result)
    raise("{}: no answer ({}). Is a server running there?", s.place.url,
          httplib::to_string(result.error()));
  const int status = result->status;
  const bool is_forbidden = status == 403;
  if (status == 404 || status == 405 || status == 501 || (is_forbidden && is_named)) return "";
  if (status == 401 || is_forbidden)
    raise("{}: status {}: {}. It wants another --api-key{}.", s.place.url, status,
          error_text(result->body),
          is_forbidden ? ", or forbids the list of its models: then name one with --model" : "");
  if (status != 200)
    raise("{}{}/models: status {}: {}", s.url.origin, s.url.api, status, error_text(result->body));
  return result->body;
}

std::string CompletionClient::page(const std::string& path) {
  const auto result = state_->client.Get(path.c_str());
  return result && result->status == 200 ? result->body : "";
}

void CompletionClient::close() { state_->client.stop(); }
void CompletionClient::interrupt() { state_->client.stop(); }

StopWatcher::StopWatcher(CompletionClient& client, const std::atomic<bool>& stop)
    : thread_([&client, &stop](const std::stop_token& ended) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        const auto has_ended = [&ended] { return ended.stop_requested(); };
        while (!wake.wait_for(lock, ended, kLookAgain, has_ended))
          if (stop) client.interrupt();
      }) {}

}  // namespace reprise::server
