// Feeds the bytes of a connection to the HTTP server, and the bodies of its requests to the API's
// readers.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <string_view>

#include "core/tokenizer/tokenizer.h"
#include "server/api_error.h"
#include "server/endpoints.h"
#include "server/generation_request.h"
#include "server/http_server.h"
#include "server/metrics.h"
#include "tests/fuzz/fuzz.h"
#include "tests/server/raw_client.h"

namespace {

using namespace reprise;

// True if one of the answers has status 500. Bodies are skipped, because messages may quote the
// request.
bool has_internal_error(std::string_view answers) {
  constexpr std::string_view kEnd = "\r\n\r\n", kLength = "Content-Length: ";
  while (answers.starts_with("HTTP/1.1 ")) {
    if (answers.starts_with("HTTP/1.1 500")) return true;
    const size_t end = answers.find(kEnd);
    if (end == std::string_view::npos) return false;
    const std::string_view head = answers.substr(0, end);
    const size_t at = head.find(kLength);
    size_t body = 0;
    if (at != std::string_view::npos)
      std::from_chars(head.data() + at + kLength.size(), head.data() + head.size(), body);
    answers.remove_prefix(std::min(answers.size(), end + kEnd.size() + body));
  }
  return false;
}

class Target {
 public:
  Target()
      : tokenizer_(load_tokenizer(REPRISE_SOURCE_DIR "/models/quickstart")),
        model_{.name = "quickstart",
               .tokenizer = *tokenizer_,
               .chat = std::nullopt,
               .no_chat = "none",
               .vocab = tokenizer_->vocab_size(),
               .max_sequence_tokens = 512,
               .eos_ids = {2},
               .chat_eos_ids = {2}},
        server_("127.0.0.1", 0, limits(),
                {.check = [](const server::HttpHead&) {},
                 .answer = [this](const server::HttpCall& call) { return answer(call); }},
                metrics_) {}

  // Input that begins like JSON is sent as the body of a valid request. Otherwise the API would
  // hardly be reached, because few mutated requests are valid.
  void exchange(std::string_view bytes) {
    sent_ = bytes;
    std::string request(bytes);
    if (bytes.starts_with('{'))
      request.insert(0, "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                            std::to_string(bytes.size()) +
                            "\r\nContent-Type: application/json\r\n\r\n");
    server::RawClient client(server_.port(), 0, std::chrono::milliseconds(5000));
    if (!client.is_open() || !client.send(request)) return;
    client.finish_sending();
    std::string all;
    for (std::string more = client.receive(); !more.empty(); more = client.receive()) all += more;
    if (!all.empty() && !all.starts_with("HTTP/1.")) std::abort();
    if (has_internal_error(all)) std::abort();
  }

 private:
  static server::HttpLimits limits() {
    const std::chrono::milliseconds soon{200};
    return {.most_body_bytes = 20'000,
            .head_timeout = soon,
            .body_timeout = soon,
            .idle_timeout = soon,
            .write_timeout = soon};
  }
  server::HttpAnswer answer(const server::HttpCall& call) {
    if (call.path.ends_with("chat/completions"))
      (void)server::read_chat(call.body, model_);
    else
      (void)server::read_completion(call.body, model_);
    fuzz::canary(sent_);  // here, since a client that has sent all may get no answer
    return {.status = 200, .content_type = "application/json", .body = "{}"};
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  server::ServedModel model_;
  server::Metrics metrics_;
  std::string_view sent_;  // set while the server has no connection
  server::HttpServer server_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Target target;
  target.exchange(fuzz::text_of(data, size));
  return 0;
}
