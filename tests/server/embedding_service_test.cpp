#include "server/embedding_service.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <semaphore>

#include "server/api_error.h"
#include "server/http.h"
#include "tests/server/embedding_testing.h"
#include "tests/server/poisoned_llama.h"

namespace reprise::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Vectors = std::vector<float>;
using Inputs = std::vector<std::string>;

Reply::Clock::time_point soon(milliseconds time = seconds(60)) {
  return Reply::Clock::now() + time;
}

class EmbeddingServiceTest : public ::testing::Test {
 protected:
  void make(int32_t most_requests = 8) {
    service_ = std::make_unique<EmbeddingService>(*tiny_.embedder, most_requests, metrics_);
  }
  // From now on each step waits until open() lets it pass.
  void close_gate() {
    tiny_.embedder->call_before_steps([this] {
      waiting_.release();
      gate_.acquire();
    });
  }
  void open(int steps) { gate_.release(steps); }

  std::future<Vectors> ask(const Inputs& texts) {
    return std::async(std::launch::async, [this, tokens = tiny_.tokens_of(texts)] {
      return service_->vectors_of(tokens, -1, soon());
    });
  }
  // The status of the refusal; 0 if vectors came.
  static int status_of(std::future<Vectors>& answer) {
    try {
      (void)answer.get();
      return 0;
    } catch (const ApiError& error) {
      return error.status();
    }
  }
  bool is_counted(const std::string& line) {
    return !Metrics::absence().empty() ||
           metrics_.text().find("\n" + line + "\n") != std::string::npos;
  }
  void expect_counted(const std::string& line) {
    EXPECT_TRUE(is_counted(line)) << line << " not in\n" << metrics_.text();
  }
  // Waits until a request that was sent before is in the queue.
  void wait_for_queue() {
    for (int i = 0; i < 2000 && !is_counted("reprise_requests_waiting 1"); ++i) ::usleep(10'000);
    if (!Metrics::absence().empty()) ::usleep(500'000);
  }

  TinyEmbedder tiny_;
  Metrics metrics_;
  std::counting_semaphore<> gate_{0}, waiting_{0};  // steps that may pass; steps at the gate
  std::unique_ptr<EmbeddingService> service_;
};

// Some requests take several steps, the others one.
TEST_F(EmbeddingServiceTest, ManyAtOnceGetWhatTheEmbedderGivesEachAlone) {
  std::vector<Inputs> requests;
  std::vector<Vectors> wanted;
  for (int i = 0; i < 12; ++i) {
    Inputs texts;
    for (int text = 0; text < (i % 3 == 0 ? 500 : 1 + i); ++text)
      texts.push_back(std::string(1, static_cast<char>('a' + (i + text) % 8)) + " b c d e f");
    wanted.push_back(tiny_.embedder->read(texts));
    requests.push_back(std::move(texts));
  }
  make(12);
  std::vector<std::future<Vectors>> answers;
  for (const Inputs& texts : requests) answers.push_back(ask(texts));
  for (size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(answers[i].get(), wanted[i]) << i;
  EXPECT_TRUE(service_->wait_idle(seconds(20)));
  expect_counted("reprise_requests_total{outcome=\"stop\"} 12");
  expect_counted("reprise_prompt_tokens_total " +
                 std::to_string(8 * (4 * 500 + 8 * 1 + 1 + 2 + 4 + 5 + 7 + 8 + 10 + 11)));
  expect_counted("reprise_requests_running 0");
}

TEST_F(EmbeddingServiceTest, AShortRequestWaitsForAStepOfALongOneNotForItsEnd) {
  close_gate();
  make();
  auto long_one = ask(Inputs(600, "a b c d e f g h"));  // three steps
  waiting_.acquire();
  auto short_one = ask({"a"});
  wait_for_queue();
  open(2);  // the long one's first step, and the short one
  EXPECT_EQ(short_one.wait_for(seconds(20)), std::future_status::ready);
  EXPECT_EQ(long_one.wait_for(milliseconds(1)), std::future_status::timeout);
  open(100);
  EXPECT_EQ(long_one.get().size(), 600u * 32);
  EXPECT_EQ(short_one.get().size(), 32u);
}

TEST_F(EmbeddingServiceTest, RequestsBeyondTheLimitComeBackLater) {
  close_gate();
  make(2);
  auto first = ask({"a"});
  waiting_.acquire();
  auto second = ask({"b"});
  wait_for_queue();
  auto third = ask({"c"});
  EXPECT_EQ(status_of(third), 429);
  open(100);
  EXPECT_EQ(status_of(first), 0);
  EXPECT_EQ(status_of(second), 0);
}

// A request may be cancelled or expire in the queue and during a step. The step goes on.
TEST_F(EmbeddingServiceTest, WhoIsGoneOrLateIsForgotten) {
  close_gate();
  make();
  auto first = ask({"a"});
  waiting_.acquire();
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  ::close(pair[1]);
  EXPECT_THROW((void)service_->vectors_of(tiny_.tokens_of({"b"}), pair[0], soon()), PeerGone);
  ::close(pair[0]);
  try {
    (void)service_->vectors_of(tiny_.tokens_of({"c"}), -1, soon(milliseconds(5)));
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 408);
  }
  EXPECT_FALSE(service_->wait_idle(milliseconds(1)));
  open(1);
  EXPECT_EQ(status_of(first), 0);
  EXPECT_TRUE(service_->wait_idle(seconds(20)));
  expect_counted("reprise_requests_total{outcome=\"cancelled\"} 2");
  expect_counted("reprise_requests_total{outcome=\"stop\"} 1");
}

TEST_F(EmbeddingServiceTest, ShuttingDownEndsTheOldAtOnceAndRefusesTheNew) {
  close_gate();
  make();
  auto running = ask({"a"});
  waiting_.acquire();
  auto queued = ask({"b"});
  wait_for_queue();
  EXPECT_FALSE(service_->refuses_new());
  service_->refuse_new();
  EXPECT_TRUE(service_->refuses_new());
  EXPECT_FALSE(service_->wait_idle(milliseconds(1)));
  service_->end_all(503, "closing time");
  EXPECT_EQ(status_of(running), 503);  // though its step still waits at the gate
  EXPECT_EQ(status_of(queued), 503);
  EXPECT_TRUE(service_->wait_idle(milliseconds(1)));
  auto late = ask({"c"});
  EXPECT_EQ(status_of(late), 503);
  open(1);
  service_.reset();
}

TEST_F(EmbeddingServiceTest, AStepThatFailsEndsItsRequestAlone) {
  bool fails = true;
  tiny_.embedder->call_before_steps([&] {
    if (std::exchange(fails, false)) raise("no memory");
  });
  make();
  auto first = ask({"a"});
  EXPECT_EQ(status_of(first), 500);
  auto second = ask({"a"});
  EXPECT_EQ(status_of(second), 0);
  expect_counted("reprise_requests_total{outcome=\"error\"} 1");
}

// In this decoder's checkpoint the embedding of one token is NaN.
TEST_F(EmbeddingServiceTest, VectorsThatAreNotFiniteAreAnError) {
  constexpr int32_t kPoison = 7;
  const auto decoder = poisoned_llama(kPoison, tiny_.context);
  sentence::Embedder embedder(*decoder, *tiny_.tokenizer, {});
  EmbeddingService service(embedder, 8, metrics_);
  EXPECT_EQ(service.vectors_of({{.ids = {1, 2}, .given = 2}}, -1, soon()).size(), 8u);
  try {
    (void)service.vectors_of({{.ids = {1, kPoison}, .given = 2}}, -1, soon());
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 500);
    EXPECT_NE(std::string(error.what()).find("not finite"), std::string::npos) << error.what();
  }
  EXPECT_EQ(service.vectors_of({{.ids = {1, 2}, .given = 2}}, -1, soon()).size(), 8u);
}

}  // namespace
}  // namespace reprise::server
