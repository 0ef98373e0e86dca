// Tests the limits of connections, over a real socket with a handler that echoes.
#include "server/http_server.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <future>
#include <thread>

#include "server/api_error.h"
#include "tests/server/raw_client.h"

namespace reprise::server {
namespace {

using std::chrono::milliseconds;

// Tests open connections one after another, and the server notices the end of one only a moment
// later.
constexpr HttpLimits kSmall = {.most_connections = 32,
                               .most_body_bytes = 1000,
                               .most_header_bytes = 2000,
                               .most_headers = 10,
                               .head_timeout = milliseconds(300),
                               .body_timeout = milliseconds(300),
                               .idle_timeout = milliseconds(300),
                               .write_timeout = milliseconds(300)};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpAnswer answer(const HttpCall& call) {
    ++answered_;
    if (call.path == "/broken") throw std::runtime_error("out of luck");
    if (call.path == "/busy") throw ApiError(429, "come back");
    if (call.path == "/gone") throw PeerGone();
    if (call.path == "/stream")
      return {.content_type = "text/event-stream", .stream = [&](const HttpWrite& write) {
                for (int i = 0; i < 3; ++i) write(fmt::format("data: {}\n\n", i));
              }};
    if (call.path == "/flood")
      return {.content_type = "text/event-stream", .stream = [&](const HttpWrite& write) {
                while (write(std::string(65536, 'x'))) ++flooded_;
                flood_ended_ = true;
              }};
    if (call.path == "/long")
      return {.content_type = "text/plain", .body = std::string(size_t{4} << 20, 'y')};
    return {.content_type = "text/plain", .body = call.method + " " + call.body};
  }

  static void check(const HttpHead& head) {
    if (head.path == "/nothing") throw ApiError(404, "there is nothing");
    if (head.authorization == "wrong") throw ApiError(401, "who are you?");
  }

  int port() const { return server_.port(); }

  // Sends bytes and returns the status of the answer.
  int status_of(const std::string& bytes) const {
    RawClient client(port());
    client.send(bytes);
    return client.answer().status;
  }

  Metrics metrics_;
  std::atomic<int> answered_ = 0, flooded_ = 0;
  std::atomic<bool> flood_ended_ = false;
  HttpServer server_{"127.0.0.1",
                     0,
                     kSmall,
                     {.check = check, .answer = [this](const HttpCall& c) { return answer(c); }},
                     metrics_};
};

TEST_F(HttpServerTest, OneConnectionCarriesManyRequests) {
  RawClient client(port());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(client.send(post_text("/echo", std::to_string(i))));
    const RawAnswer answer = client.answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, fmt::format("POST {}", i));
  }
  client.send(get_text("/echo"));
  EXPECT_EQ(client.answer().body, "GET ");
  client.send(post_text("/a", "one") + post_text("/a", "two"));  // both requests in one piece
  EXPECT_EQ(client.answer().body, "POST one");
  EXPECT_EQ(client.answer().body, "POST two");
  client.send(get_text("/stream"));
  EXPECT_EQ(events_of(client.answer().body), (std::vector<std::string>{"0", "1", "2"}));
  client.send(get_text("/echo", "Connection: close\r\n"));
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(client.receive(), "");
}

TEST_F(HttpServerTest, ChunkedBodiesAreRead) {
  RawClient client(port());
  client.send(
      "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n"
      "0\r\n\r\n");
  const RawAnswer answer = client.answer();
  EXPECT_EQ(answer.body, "POST abcde");
  EXPECT_NE(answer.head.find("Connection: close"), std::string::npos) << answer.head;
  EXPECT_EQ(client.receive(), "");
}

// A proxy in front of the server must find the same end of a request as the server. Otherwise bytes
// behind that end could become a request that nobody sent.
TEST_F(HttpServerTest, HeadsThatTwoReadersMayReadDifferentlyAreRefused) {
  const std::string inner = get_text("/inner");
  const std::string length = fmt::format("Content-Length: {}", inner.size());
  const std::string chunked = "Transfer-Encoding: chunked";
  const std::string get = "GET /a HTTP/1.1\r\n", post = "POST /a HTTP/1.1\r\n";
  const std::vector<std::string> heads = {
      get + length + "\r\n\r\n",
      "HEAD /a HTTP/1.1\r\n" + length + "\r\n\r\n",
      "DELETE /a HTTP/1.1\r\n" + chunked + "\r\n\r\n",
      get + chunked + "\r\n\r\n0\r\n\r\n",
      post + fmt::format("Content-Length : {}\r\n\r\n", inner.size()),
      post + " " + length + "\r\n\r\n",
      post + "X: y\r\n\t" + length + "\r\n\r\n",
      post + length + "\n\r\n",
      post + "X: y\n" + length + "\r\n\r\n",
      post + "X: y\r" + length + "\r\n\r\n",
      post + "Content-Length\r\n\r\n",
      post + "Content-Length:\r\n\r\n",
      post + "Content-Length: %30\r\n\r\n",
      post + length + "\r\nContent-Length: 0\r\n\r\n",
      post + "Content-Length: 0\r\n" + chunked + "\r\n\r\n0\r\n\r\n",
      post + chunked + "\r\n" + chunked + "\r\n\r\n0\r\n\r\n",
      post + chunked + "\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunke%64\r\n\r\n0\r\n\r\n"};
  for (const std::string& head : heads) {
    RawClient client(port());
    client.send(head + inner);
    EXPECT_EQ(client.answer().status, 400) << head;
    EXPECT_EQ(client.answer().status, 0) << head;  // the connection was closed
  }
  EXPECT_EQ(answered_, 0);
}

TEST_F(HttpServerTest, ARequestWithoutABodyMaySaySo) {
  RawClient client(port());
  client.send(get_text("/a", "Content-Length: 0\r\n") + get_text("/a", "X:\r\nY: \xC3\xA9\tz\r\n"));
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(client.answer().status, 200);
}

// Older clients send a line end behind a body [RFC 9112 §2.2].
TEST_F(HttpServerTest, AnEmptyLineBeforeARequestIsPassedOver) {
  RawClient client(port());
  client.send("\r\n" + post_text("/a", "abc") + "\r\n" + get_text("/b"));
  EXPECT_EQ(client.answer().body, "POST abc");
  EXPECT_EQ(client.answer().body, "GET ");
}

// When its idle time is over, the connection is closed without an answer, because nobody has asked
// for one.
TEST_F(HttpServerTest, AnEmptyLineBehindABodyDoesNotBeginARequest) {
  for (const bool comes_later : {false, true}) {
    RawClient client(port());
    client.send(post_text("/a", "abc") + (comes_later ? "" : "\r\n"));
    EXPECT_EQ(client.answer().body, "POST abc");
    if (comes_later) client.send("\r\n");
    EXPECT_EQ(client.answer().status, 0) << comes_later;
  }
}

TEST_F(HttpServerTest, NothingBehindChunksIsReadAsARequest) {
  RawClient client(port());
  client.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n" +
              get_text("/inner"));
  (void)client.answer();
  EXPECT_EQ(client.answer().status, 0);
  EXPECT_LE(answered_, 1);
}

TEST_F(HttpServerTest, ErrorsHaveTheApisForm) {
  RawClient client(port());
  client.send(get_text("/broken"));
  RawAnswer answer = client.answer();
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.error(), "out of luck");
  EXPECT_EQ(answer.json()["error"]["type"], "server_error");
  client.send(get_text("/busy"));
  answer = client.answer();
  EXPECT_EQ(answer.status, 429);
  EXPECT_NE(answer.head.find("Retry-After: 1"), std::string::npos);
  client.send(get_text("/echo"));  // the connection is still usable
  EXPECT_EQ(client.answer().status, 200);
}

TEST_F(HttpServerTest, RefusalsComeBeforeTheBody) {
  const std::string body_to_come = "Content-Length: 900\r\n\r\n";
  EXPECT_EQ(status_of("POST /nothing HTTP/1.1\r\nHost: a\r\n" + body_to_come), 404);
  EXPECT_EQ(status_of("POST /a HTTP/1.1\r\nHost: a\r\nAuthorization: wrong\r\n" + body_to_come),
            401);
  RawClient large(port());
  large.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n");
  const RawAnswer too_large = large.answer();
  EXPECT_EQ(too_large.status, 413);
  EXPECT_NE(
      too_large.error().find("1000 bytes that are read: send less, or start the server with a "
                             "larger --max-body"),
      std::string::npos)
      << too_large.body;
  EXPECT_EQ(
      status_of("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n"),
      413);
  EXPECT_EQ(status_of("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(
      status_of("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
      400);
  EXPECT_EQ(
      status_of(
          "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
      400);
  EXPECT_EQ(status_of("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
            400);
  EXPECT_EQ(status_of("POST /a HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\n" + body_to_come),
            415);
  EXPECT_EQ(answered_, 0);
}

TEST_F(HttpServerTest, TheHostIsNamedOnceAndMayStandInTheTarget) {
  EXPECT_EQ(status_of("GET /echo HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /echo HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /echo HTTP/1.0\r\n\r\n"), 200);
  for (const char* target : {"http://a/echo", "HTTP://a:80/echo?x=/y", "/echo?to=http://b/c"})
    EXPECT_EQ(status_of(fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", target)), 200) << target;
  EXPECT_EQ(status_of("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n"),
            status_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
}

TEST_F(HttpServerTest, NoBodyIsAnEmptyOne) {
  RawClient client(port());
  client.send("POST /a HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.answer().body, "POST ");
  client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.answer().body, "POST ");
}

TEST_F(HttpServerTest, BytesOfARequestAreBounded) {
  std::string many = "GET /a HTTP/1.1\r\nHost: a\r\n", few = many;
  for (int i = 0; i < 10; ++i) many += fmt::format("x{}: y\r\n", i);
  for (int i = 0; i < 9; ++i) few += fmt::format("x{}: y\r\n", i);
  EXPECT_EQ(status_of(few + "\r\n"), 200);
  EXPECT_EQ(status_of(many + "\r\n"), 431);
  EXPECT_EQ(
      status_of(fmt::format("GET /a HTTP/1.1\r\nHost: a\r\nx: {}\r\n\r\n", std::string(3000, 'y'))),
      431);
  EXPECT_EQ(status_of(fmt::format("GET /{}", std::string(3000, 'a'))), 431);
  std::string chunks = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 40; ++i) chunks += fmt::format("32\r\n{}\r\n", std::string(50, 'z'));
  EXPECT_EQ(status_of(chunks + "0\r\n\r\n"), 413);
}

TEST_F(HttpServerTest, WhatIsNoHttpIsRefused) {
  for (const char* bytes :
       {"hello\r\n\r\n", "GET\r\n\r\n", "GET /a\r\n\r\n", "GET /a HTTP/9.9\r\n\r\n",
        "BREW /a HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"}) {
    const int status = status_of(bytes);
    EXPECT_GE(status, 400) << bytes;
    EXPECT_LT(status, 500) << bytes;
  }
}

TEST_F(HttpServerTest, SlowSendersAreCutOffHoweverTheyDrip) {
  const auto begin = std::chrono::steady_clock::now();
  {
    RawClient client(port());
    client.send("GET /a HT");
    EXPECT_EQ(client.answer().status, 408);
  }
  {
    RawClient client(port());
    client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc");
    EXPECT_EQ(client.answer().status, 408);
  }
  RawClient client(port());  // sends one byte at a time, each before the timeout
  client.send("GET /a HTTP/1.1\r\nHost: a\r\nx: ");
  for (int i = 0; i < 12; ++i) {
    std::this_thread::sleep_for(milliseconds(50));
    client.send("y");
  }
  EXPECT_EQ(client.answer().status, 408);
  RawClient idle(port());  // sends nothing, and gets no answer
  EXPECT_EQ(idle.receive(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(HttpServerTest, WhoDoesNotReadIsCutOff) {
  RawClient client(port(), 4096);
  client.send(get_text("/flood"));
  for (int i = 0; i < 200 && !flood_ended_; ++i) std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(flood_ended_);
  EXPECT_LT(flooded_, 100);  // the number is bounded by the system's buffers
}

// The whole answer takes some four times as long as 64 KiB of it may.
TEST_F(HttpServerTest, WhoReadsSlowlyGetsALongAnswerWhole) {
  RawClient client(port(), 65536);
  client.send(get_text("/long", "Connection: close\r\n"));
  size_t bytes = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::string more = client.receive(); !more.empty(); more = client.receive()) {
    bytes += more.size();
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_GT(bytes, size_t{4} << 20);
  EXPECT_GT(std::chrono::steady_clock::now() - begin, 3 * kSmall.write_timeout);
}

TEST_F(HttpServerTest, OneConnectionTooManyIsTurnedAway) {
  std::vector<std::unique_ptr<RawClient>> clients;
  const auto fill = [&] {
    for (int i = 0; i < kSmall.most_connections; ++i) {
      clients.push_back(std::make_unique<RawClient>(port()));
      clients.back()->send(get_text("/echo"));
      if (clients.back()->answer().status != 200) return false;
    }
    return true;
  };
  // On a busy machine the first connections may be cut off as idle before the last one comes.
  int refusal = 0;
  bool could_send = false;
  for (int i = 0; i < 50 && !(refusal == 503 && could_send); ++i) {
    clients.clear();
    if (fill()) {
      RawClient one_more(port());
      refusal = one_more.answer().status;
      // A client that sends its request only after the refusal is not reset. A reset could cost it
      // the refusal.
      could_send = true;
      for (int piece = 0; piece < 3; ++piece) {
        could_send = could_send && one_more.send(get_text("/echo"));
        std::this_thread::sleep_for(milliseconds(1));
      }
    } else {
      std::this_thread::sleep_for(milliseconds(20));  // until the server has noticed who left
    }
  }
  EXPECT_EQ(refusal, 503);
  EXPECT_TRUE(could_send);
  clients.pop_back();
  int status = 0;  // becomes 200 once the server has noticed that the other connection closed
  for (int i = 0; i < 100 && status != 200; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    status = status_of(get_text("/echo"));
  }
  EXPECT_EQ(status, 200);
}

TEST_F(HttpServerTest, PathsAreNoFiles) {
  RawClient client(port());
  client.send(get_text("/../../etc/passwd"));
  EXPECT_EQ(client.answer().body, "GET ");  // the handler answers, as for any path
}

TEST_F(HttpServerTest, PathsAreDecodedWithoutTheirQuery) {
  RawClient client(port());
  client.send(get_text("/stre%61m?stream=%"));
  EXPECT_EQ(events_of(client.answer().body).size(), 3u);
}

TEST_F(HttpServerTest, AHeadIsAnsweredWithoutTheBody) {
  RawClient client(port());
  client.send("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n" + get_text("/a"));
  const std::string head = client.receive();
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\n")) << head;
  const size_t end = head.find("\r\n\r\n") + 4;
  EXPECT_NE(head.find("Content-Length: 5\r\n"), head.npos) << head;  // "HEAD "
  const std::string next = end < head.size() ? head.substr(end) : client.receive();
  EXPECT_TRUE(next.starts_with("HTTP/1.1 200 OK\r\n")) << next;
}

TEST_F(HttpServerTest, ARefusedHeadHasNoBodyEither) {
  for (const char* path : {"/nothing", "/busy"}) {
    RawClient client(port());
    client.send(fmt::format("HEAD {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", path));
    std::string all;
    for (std::string more = client.receive(); !more.empty(); more = client.receive()) all += more;
    EXPECT_TRUE(all.starts_with("HTTP/1.1 4")) << all;
    EXPECT_EQ(all.find("\r\n\r\n") + 4, all.size()) << all;
  }
}

TEST_F(HttpServerTest, AnswersHaveTheHeadersThatHttpDemands) {
  RawClient client(port());
  client.send(get_text("/echo"));
  const std::string head = client.answer().head;
  const size_t date = head.find("\r\nDate: ");
  ASSERT_NE(date, head.npos) << head;
  std::tm parsed{};
  const char* end = ::strptime(head.c_str() + date + 8, "%a, %d %b %Y %H:%M:%S GMT\r\n", &parsed);
  ASSERT_NE(end, nullptr) << head;
  EXPECT_LT(std::abs(std::difftime(::timegm(&parsed), std::time(nullptr))), 60);
  client.send(get_text("/echo", "Authorization: wrong\r\n"));
  const RawAnswer refused = client.answer();
  EXPECT_EQ(refused.status, 401);
  EXPECT_NE(refused.head.find("WWW-Authenticate: Bearer\r\n"), std::string::npos) << refused.head;
}

TEST_F(HttpServerTest, AnOldClientIsNotToldToContinue) {
  RawClient client(port());
  client.send("POST /a HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nab");
  std::this_thread::sleep_for(milliseconds(20));  // the server waits for the rest
  client.send("c");
  EXPECT_EQ(client.answer().body, "POST abc");
}

TEST_F(HttpServerTest, ABodyThatWaitsToBeWantedIsAskedFor) {
  RawClient client(port());
  client.send("POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.answer().status, 100);
  client.send("abc");
  EXPECT_EQ(client.answer().body, "POST abc");
}

// HTTP/1.0 has no chunked encoding.
TEST_F(HttpServerTest, AStreamToAnOldClientEndsWithTheConnection) {
  RawClient client(port());
  client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  std::string all;
  for (std::string more = client.receive(); !more.empty(); more = client.receive()) all += more;
  EXPECT_EQ(all.find("chunked"), all.npos) << all;
  EXPECT_TRUE(all.ends_with("\r\n\r\ndata: 0\n\ndata: 1\n\ndata: 2\n\n")) << all;
}

TEST_F(HttpServerTest, NothingIsWrittenToAClientThatHasGone) {
  RawClient client(port());
  client.send(get_text("/gone"));
  EXPECT_EQ(client.receive(), "");
}

TEST_F(HttpServerTest, ClosingRefusesConnectionsAndEndsIdleOnes) {
  RawClient client(port());
  client.send(get_text("/echo"));
  EXPECT_EQ(client.answer().status, 200);
  const auto begin = std::chrono::steady_clock::now();
  server_.close(std::chrono::seconds(10));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(client.receive(), "");
  EXPECT_FALSE(RawClient(port()).is_open());
}

// Closing does not wait for clients that reconnect. Each client is answered, or loses at most one
// request.
TEST(HttpServer, ClosingEndsThoughClientsComeAgain) {
  constexpr int kClients = 64;
  Metrics metrics;
  const HttpHandler handler = {.check = [](const HttpHead&) {},
                               .answer = [](const HttpCall&) { return HttpAnswer(); }};
  HttpServer server("127.0.0.1", 0, {}, handler, metrics);
  std::atomic<int> answered = 0, unanswered = 0;
  std::atomic<bool> ends = false;
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i)
    clients.emplace_back([&] {
      while (!ends) {
        RawClient client(server.port());
        if (!client.is_open()) return;
        client.send(get_text("/echo"));
        (client.answer().status == 200 ? answered : unanswered)++;
      }
    });
  while (answered < kClients) std::this_thread::sleep_for(milliseconds(1));
  const auto begin = std::chrono::steady_clock::now();
  server.close(milliseconds(0));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  ends = true;
  for (std::thread& client : clients) client.join();
  EXPECT_LE(unanswered, kClients);
}

// A body of unknown size counts as the largest allowed one while it is read.
TEST(HttpServer, AChunkedBodyThatWasReadCountsWithItsSize) {
  Metrics metrics;
  std::promise<void> release;
  std::atomic<bool> is_waiting = false;
  const std::shared_future<void> released = release.get_future().share();
  const HttpHandler handler = {.check = [](const HttpHead&) {},
                               .answer =
                                   [&](const HttpCall& call) {
                                     if (call.path == "/wait") {
                                       is_waiting = true;
                                       released.wait();
                                     }
                                     return HttpAnswer{.body = call.body};
                                   }};
  HttpServer server("127.0.0.1", 0, {.most_body_bytes = 1000, .all_body_bytes = 2000}, handler,
                    metrics);
  const auto chunked = [](const std::string& path) {
    return "POST " + path +
           " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  };
  RawClient waiting(server.port()), other(server.port());
  waiting.send(chunked("/wait"));
  while (!is_waiting) std::this_thread::sleep_for(milliseconds(1));
  other.send(chunked("/now"));
  EXPECT_EQ(other.answer().status, 200);
  release.set_value();
  EXPECT_EQ(waiting.answer().body, "abc");
}

TEST(HttpServer, AnAddressThatIsTakenIsNamed) {
  Metrics metrics;
  const HttpServer first("127.0.0.1", 0, {}, {}, metrics);
  try {
    const HttpServer second("127.0.0.1", first.port(), {}, {}, metrics);
    FAIL() << "two servers on one port";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(fmt::format("127.0.0.1:{}", first.port())),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(HttpServer("no.such.host.invalid", 0, {}, {}, metrics), Error);
}

}  // namespace
}  // namespace reprise::server
