// Sends valid requests with bytes and words changed. The server must answer or close the
// connection, keep running, and release what it took. REPRISE_FUZZ_REQUESTS gives the number of
// requests (default: 1000), and REPRISE_FUZZ_SEED the first seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "core/device/memory.h"
#include "tests/server/embedding_testing.h"
#include "tests/server/quickstart_server.h"
#include "tests/support/json.h"

namespace reprise::server {
namespace {

using std::chrono::milliseconds;

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

// The answers are small, so that most of the time goes into requests.
const std::vector<std::string>& valid_requests() {
  static const std::vector<std::string> kRequests = [] {
    const std::string chat = R"({"model": "quickstart", "messages": [{"role": "system", "content":
        "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
        "max_completion_tokens": 2, "temperature": 0.5, "top_p": 0.9, "n": 1, "seed": 5,
        "stop": ["x"], "logprobs": true, "top_logprobs": 2})";
    const std::string completion = R"({"model": "quickstart", "prompt": [[1, 5, 9], [3]],
        "max_tokens": 2, "temperature": 0, "n": 2, "stop": "é", "stream": true, "logprobs": 1,
        "echo": true, "stream_options": {"include_usage": true}, "ignore_eos": true,
        "user": "\u00e9"})";
    return std::vector<std::string>{
        post_text("/v1/chat/completions", chat),
        post_text("/v1/completions", completion),
        post_text("/v1/embeddings", R"({"model": "tiny", "input": [[4, 5], [19]],
            "encoding_format": "base64", "dimensions": 32, "user": "me"})"),
        post_text("/v1/embeddings", R"({"input": ["a b", "\u0061"]})"),
        post_text("/v1/completions", R"({"prompt": "a", "max_tokens": 1})",
                  "Authorization: Bearer x\r\nExpect: 100-continue\r\n"),
        "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n1f\r\n{\"prompt\": \"a\", \"max_tokens\": "
        "1\r\n1\r\n}\r\n0\r\n\r\n",
        get_text("/v1/models"),
        get_text("/metrics", "Range: bytes=0-10\r\n"),
        get_text("/health", "Accept-Encoding: gzip, br\r\nConnection: keep-alive\r\n")};
  }();
  return kRequests;
}

const std::vector<std::string>& odd_words() {
  static const std::vector<std::string> kWords = {
      "null",
      "true",
      "-1",
      "0",
      "1e400",
      "NaN",
      "18446744073709551616",
      "-9223372036854775809",
      "\"\"",
      "[]",
      "{}",
      "[[[[[[",
      "}}}}",
      "\\ud800",
      "\\u0000",
      "\xff\xfe",
      "\xed\xa0\x80",
      "\r\n",
      "\r\n\r\n",
      "%00",
      "%2e%2e/",
      "Content-Length: 5\r\n",
      "Content-Length: 99999999\r\n",
      "Transfer-Encoding: chunked\r\n",
      "Content-Encoding: gzip\r\n",
      "Content-Type: multipart/form-data; boundary=x\r\n",
      "Connection: close\r\n",
      "0\r\n\r\n",
      "ffffffffffffffff\r\n",
      "\"messages\": ",
      "\"n\": 1000000",
      "\"max_tokens\": 2147483648",
      "\"prompt\": ",
      std::string(1, '\0'),
      std::string(5000, 'a'),
      std::string(300, '['),
      "HTTP/1.0",
      "HTTP/2.0",
      "HEAD",
      "PUT",
      "OPTIONS"};
  return kWords;
}

class Mutations {
 public:
  explicit Mutations(uint64_t seed) : bits_(seed) {}

  std::string next() {
    std::string text = valid_requests()[below(valid_requests().size())];
    for (size_t changes = below(4); changes > 0 && !text.empty(); --changes) change(text);
    return text;
  }
  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(bits_); }

 private:
  void change(std::string& text) {
    const size_t at = below(text.size());
    switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, 1 + below(20));
        break;
      case 2:
        text.insert(at, odd_words()[below(odd_words().size())]);
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text.insert(at, text.substr(below(text.size()), below(200)));
        break;
      default: {  // changes a value of the JSON
        const size_t colon = text.find(": ", at);
        if (colon == text.npos) break;
        const size_t end = text.find_first_of(",}\r", colon + 2);
        text.replace(colon + 2, end == text.npos ? 1 : end - colon - 2,
                     odd_words()[below(odd_words().size())]);
      }
    }
  }

  std::mt19937_64 bits_;
};

ServerOptions short_patience() {
  ServerOptions options{.port = 0};
  options.http.head_timeout = options.http.body_timeout = options.http.idle_timeout =
      milliseconds(50);
  options.http.most_body_bytes = 20'000;
  return options;
}

// Sends one request and reads until the other end closes, or enough has arrived.
void exchange(int port, Mutations& mutations) {
  RawClient client(port, 0, milliseconds(5000));
  if (!client.is_open() || !client.send(mutations.next())) return;
  if (mutations.below(8) == 0) return;  // closes without reading
  std::string all = client.receive();
  if (mutations.below(2) == 0) client.finish_sending();
  for (std::string more = client.receive(); !more.empty(); more = client.receive()) all += more;
  if (all.empty()) return;
  EXPECT_TRUE(all.starts_with("HTTP/1.")) << all.substr(0, 200);
  EXPECT_EQ(all.find("HTTP/1.1 500"), std::string::npos) << all.substr(0, 500);
}

// Sends many requests from several threads. The same seed sends the same requests.
void send_many(int port, int requests, int seed) {
  constexpr int kThreads = 16;  // most threads wait at any time
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([=] {
      Mutations mutations(static_cast<uint64_t>(seed + i));
      for (int j = 0; j < requests / kThreads; ++j) exchange(port, mutations);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(ServerFuzz, MalformedRequestsCostOneConnection) {
  const int requests = number_of("REPRISE_FUZZ_REQUESTS", 1000);
  const int seed = number_of("REPRISE_FUZZ_SEED", 1);
  QuickstartServer server(
      {.max_batch = 16, .max_sequence_tokens = 128, .server = short_patience()});
  const Json body = {{"prompt", "Hello"}, {"max_tokens", 8}, {"temperature", 0}};
  const auto text = [&] { return server.complete(body).json()["choices"][0]["text"]; };
  const Json wanted = text();
  int64_t before = 0;
  for (int round = 0; round < 2; ++round) {
    send_many(server.port(), requests / 2, seed * 1000 + round * 100);
    EXPECT_EQ(text(), wanted) << "seed " << seed;
    if (round == 0) before = resident_bytes();
  }
  EXPECT_TRUE(server.server().service().wait_idle(std::chrono::seconds(20)));
  // Only the second half of the requests counts: the first allocates memory that stays, such as
  // heaps of threads and tables of libraries.
  const int64_t grown = resident_bytes() - before;
  RecordProperty("grown_kib", static_cast<int>(grown / 1024));
  std::printf("%d requests from seed %d, memory of the second half: %+lld KiB\n", requests, seed,
              static_cast<long long>(grown / 1024));
#ifndef __SANITIZE_ADDRESS__  // it keeps freed memory for a while, and checks leaks itself
  EXPECT_LT(grown, int64_t{64} << 20);
#endif
  engine::Engine& engine = server.stop();
  EXPECT_FALSE(engine.has_work());
}

TEST(ServerFuzz, AServerOfVectorsStaysUp) {
  TinyEmbedder tiny;
  ServedModel model =
      served_model(tiny.decoder->config(), *tiny.tokenizer, tiny.dir.path(), "llama-2");
  model.max_sequence_tokens = 12;
  Server server(*tiny.embedder, model, short_patience());
  const Json body = {{"input", "a b c"}};
  const std::string wanted = post(server.port(), "/v1/embeddings", body).body;
  const int seed = number_of("REPRISE_FUZZ_SEED", 1);
  send_many(server.port(), number_of("REPRISE_FUZZ_REQUESTS", 1000), seed * 1000 + 500);
  EXPECT_EQ(post(server.port(), "/v1/embeddings", body).body, wanted) << "seed " << seed;
  EXPECT_TRUE(server.service().wait_idle(std::chrono::seconds(20)));
}

}  // namespace
}  // namespace reprise::server
