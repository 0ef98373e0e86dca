// Serves clients while hundreds of others send or read slowly. REPRISE_SLOW_CLIENTS gives their
// number (default: 500).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "core/device/memory.h"
#include "tests/server/quickstart_server.h"
#include "tests/support/json.h"

namespace reprise::server {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

int slow_clients() {
  const char* text = std::getenv("REPRISE_SLOW_CLIENTS");
  return text == nullptr ? 500 : std::atoi(text);
}

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Handles all slow clients in one thread, because a thread for each would load the machine more
// than the server does.
class SlowCrowd {
 public:
  SlowCrowd(int port, int count) {
    for (int i = 0; i < count; ++i) {
      clients_.push_back(std::make_unique<RawClient>(port, 2048));
      begin(*clients_.back(), i);
    }
  }
  [[nodiscard]] int open() const {
    return static_cast<int>(std::count_if(clients_.begin(), clients_.end(),
                                          [](const auto& client) { return client->is_open(); }));
  }
  // Sends another byte of the requests that are not complete.
  void drip() {
    for (size_t i = 0; i < clients_.size(); ++i)
      if (i % 3 != 2) (void)clients_[i]->send("x");
  }

 private:
  static void begin(const RawClient& client, int i) {
    if (i % 3 == 0) {  // headers that never end
      (void)client.send("POST /v1/completions HTTP/1.1\r\nHost: a\r\nX: ");
    } else if (i % 3 == 1) {  // a body that never ends
      (void)client.send(
          "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
          "Content-Length: 10000\r\n\r\n");
    } else if (i % 30 != 2) {  // sends requests and reads nothing
      for (int j = 0; j < 50; ++j) (void)client.send(get_text("/metrics"));
    } else {  // reads nothing of a stream; few, since each waits for the engine
      const Json body = {{"prompt", "a"},
                         {"max_tokens", 100},
                         {"stream", true},
                         {"ignore_eos", true},
                         {"logprobs", 20}};
      (void)client.send(post_text("/v1/completions", body.dump()));
    }
  }

  std::vector<std::unique_ptr<RawClient>> clients_;
};

TEST(SlowClients, HoldNobodyUp) {
  const int count = slow_clients();
  ServerOptions options{.port = 0};
  options.service.most_requests = 1024;
  options.http.head_timeout = options.http.body_timeout = milliseconds(8000);
  options.http.write_timeout = options.http.idle_timeout = milliseconds(3000);
  QuickstartServer server({.max_batch = 16, .max_sequence_tokens = 128, .server = options});
  const Json body = {{"prompt", "Hello"}, {"max_tokens", 8}, {"temperature", 0}};
  std::vector<double> alone_ms, among_ms;
  const auto ask = [&](std::vector<double>& times) {
    const Clock::time_point begin = Clock::now();
    const RawAnswer answer = server.complete(body);
    times.push_back(milliseconds_since(begin));
    EXPECT_EQ(answer.status, 200);
    return answer.json()["choices"][0]["text"];
  };
  const Json wanted = ask(alone_ms);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(alone_ms), wanted);
  const int64_t before = resident_bytes();
  int64_t most = before;
  {
    SlowCrowd crowd(server.port(), count);
    EXPECT_EQ(crowd.open(), count);
    const Clock::time_point begin = Clock::now();
    while (milliseconds_since(begin) < 6000) {
      EXPECT_EQ(ask(among_ms), wanted);
      EXPECT_EQ(get(server.port(), "/health").status, 200);
      crowd.drip();
      most = std::max(most, resident_bytes());
    }
    // In the end the server has cut off all of them; none closes by itself.
    bool is_alone = false;
    std::string metrics;
    for (int i = 0; i < 200 && !is_alone && Metrics::absence().empty(); ++i) {
      metrics = get(server.port(), "/metrics").body;
      is_alone = metrics.find("reprise_http_connections 1\n") != metrics.npos;
      if (!is_alone) std::this_thread::sleep_for(milliseconds(100));
    }
    EXPECT_TRUE(is_alone || !Metrics::absence().empty()) << metrics;
  }
  EXPECT_TRUE(server.server().service().wait_idle(std::chrono::seconds(20)));
  std::sort(alone_ms.begin(), alone_ms.end());
  std::sort(among_ms.begin(), among_ms.end());
  std::printf(
      "%d slow clients: an answer takes %.1f ms alone, %.1f ms among them (median), %.1f ms "
      "at most, %zu answers; memory grew by %lld KiB\n",
      count, alone_ms[alone_ms.size() / 2], among_ms[among_ms.size() / 2], among_ms.back(),
      among_ms.size(), static_cast<long long>((most - before) / 1024));
  EXPECT_GT(among_ms.size(), 20u);
#ifdef __SANITIZE_THREAD__  // it keeps nearly 2 MB for each of the clients' threads
  constexpr int64_t kMostGrowthMb = 1024;
#elif defined(__SANITIZE_ADDRESS__)  // it keeps 256 MB of freed memory
  constexpr int64_t kMostGrowthMb = 512;
#else
  constexpr int64_t kMostGrowthMb = 256;
#endif
  EXPECT_LT(most - before, kMostGrowthMb << 20);
}

}  // namespace
}  // namespace reprise::server
