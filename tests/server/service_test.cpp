#include "server/service.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cmath>
#include <future>
#include <optional>
#include <thread>

#include "methods/registry.h"
#include "server/api_error.h"
#include "tests/server/poisoned_llama.h"
#include "tests/support/json.h"
#include "tests/support/run_model.h"
#include "tests/support/tiny_models.h"

namespace reprise::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Context kContext = Context::machine();

// All pieces, until all choices have ended.
std::vector<Piece> all_pieces(const Ticket& ticket, size_t choices) {
  std::vector<Piece> all;
  for (size_t ended = 0; ended < choices;) {
    EXPECT_EQ(ticket.reply().wait(-1, Reply::Clock::now() + seconds(60)), Reply::Wake::kPieces);
    for (Piece& piece : ticket.reply().take()) {
      ended += piece.finish != engine::FinishReason::kNone;
      all.push_back(std::move(piece));
    }
    if (all.empty()) break;
  }
  return all;
}

std::vector<int32_t> tokens_of(const std::vector<Piece>& pieces, int32_t choice = 0) {
  std::vector<int32_t> tokens;
  for (const Piece& piece : pieces)
    if (piece.choice == choice && piece.token >= 0) tokens.push_back(piece.token);
  return tokens;
}

class ServiceTest : public ::testing::Test {
 protected:
  void make(const ServiceOptions& options, const std::string& method = "chunk_attention",
            int32_t max_batch = 4) {
    engine_ = std::make_unique<engine::Engine>(
        kContext, *decoder_, methods::make_cache(method, {}),
        engine::EngineOptions{.limits = {.max_batch = max_batch, .max_sequence_tokens = 4096}});
    service_ = std::make_unique<Service>(*engine_, options, metrics_);
  }
  static engine::Request request(std::vector<int32_t> prompt, int32_t new_tokens) {
    return {.prompt = std::move(prompt), .max_new_tokens = new_tokens};
  }
  Ticket submit(std::vector<int32_t> prompt, int32_t new_tokens) {
    return service_->submit({request(std::move(prompt), new_tokens)});
  }
  // The status with which requests are refused; 0 if they are accepted.
  int refusal(size_t count) {
    try {
      const Ticket ticket = service_->submit(std::vector<engine::Request>(count, request({1}, 4)));
      return 0;
    } catch (const ApiError& error) {
      return error.status();
    }
  }
  void expect_nothing_left() {
    EXPECT_TRUE(service_->wait_idle(seconds(20)));
    service_.reset();
    EXPECT_FALSE(engine_->has_work());
  }

  std::unique_ptr<model::Decoder> decoder_ =
      testing::random_decoder(testing::scaled_down("llama-2-7b"), kContext);
  Metrics metrics_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceTest, ManyThreadsGetTheTokensThatOneRequestAloneGets) {
  std::vector<std::vector<int32_t>> wanted;  // a decoder serves one engine at a time
  for (int i = 0; i < 24; ++i)
    wanted.push_back(testing::generate(*decoder_, {1, 5 + i % 3, 7, 9}, 10 + i % 4, "contiguous",
                                       512, kContext));
  make({});
  std::vector<std::future<std::vector<int32_t>>> answers;
  for (int i = 0; i < 24; ++i)
    answers.push_back(std::async(std::launch::async, [this, i] {
      return tokens_of(all_pieces(submit({1, 5 + i % 3, 7, 9}, 10 + i % 4), 1));
    }));
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(answers[i].get(), wanted[i]) << i;
  expect_nothing_left();
}

TEST_F(ServiceTest, AFullQueueIsRefusedWhole) {
  make({.most_requests = 6});
  std::optional<Ticket> long_one = service_->submit(
      {request({1, 2}, 4000), request({1, 3}, 4000), request({1, 4}, 4000), request({1}, 4000)});
  EXPECT_EQ(refusal(3), 429);
  EXPECT_EQ(refusal(7), 429);
  EXPECT_EQ(refusal(2), 0);  // accepted, and cancelled at once
  long_one.reset();
  EXPECT_TRUE(service_->wait_idle(seconds(20)));
  EXPECT_EQ(refusal(6), 0);
  expect_nothing_left();
}

TEST_F(ServiceTest, ATicketThatEndsCancelsItsRequests) {
  make({});
  {
    const Ticket ticket = service_->submit({request({1, 2}, 4000), request({1, 3}, 4000)});
    ASSERT_EQ(ticket.reply().wait(-1, Reply::Clock::now() + seconds(20)), Reply::Wake::kPieces);
  }
  expect_nothing_left();
  if (!Metrics::absence().empty()) return;
  EXPECT_NE(metrics_.text().find("reprise_requests_total{outcome=\"cancelled\"} 2"),
            std::string::npos)
      << metrics_.text();
}

TEST_F(ServiceTest, OneChoiceCanBeEndedAlone) {
  make({});
  const Ticket ticket = service_->submit({request({1, 2}, 3000), request({1, 2}, 30)});
  ticket.stop(0);
  const std::vector<Piece> pieces = all_pieces(ticket, 2);
  EXPECT_LT(tokens_of(pieces, 0).size(), 3000u);
  EXPECT_EQ(tokens_of(pieces, 1).size(), 30u);
  if (!Metrics::absence().empty()) return;
  const std::string metrics = metrics_.text();
  for (const char* line : {"reprise_requests_total{outcome=\"stop\"} 1",
                           "reprise_requests_total{outcome=\"length\"} 1"})
    EXPECT_NE(metrics.find(line), std::string::npos) << metrics;
  EXPECT_EQ(metrics.find("cancelled"), std::string::npos) << metrics;
}

// A request that was preempted and then cancelled ends long after its last token, so its time per
// token would be wrong.
TEST(Metrics, OnlyCompleteRequestsHaveATimePerToken) {
  if (!Metrics::absence().empty()) GTEST_SKIP() << Metrics::absence();
  constexpr int64_t kSecond_ns = 1'000'000'000;
  const engine::RequestTimes times = {.intended = 0,
                                      .submitted = 0,
                                      .admitted = 0,
                                      .first_token = kSecond_ns,
                                      .done = 61 * kSecond_ns};
  Metrics metrics;
  const auto count = [&](const char* outcome, engine::FinishReason finish) {
    metrics.request(outcome, {.finish = finish, .times = times}, 8, 2);
    const std::string text = metrics.text(), name = "reprise_time_per_output_token_seconds_count ";
    return text.substr(text.find(name) + name.size(), 1);
  };
  using engine::FinishReason;
  EXPECT_EQ(count("cancelled", FinishReason::kCancelled), "0");
  EXPECT_EQ(count("slow_reader", FinishReason::kCancelled), "0");
  EXPECT_EQ(count("length", FinishReason::kLength), "1");
  EXPECT_EQ(count("stop", FinishReason::kCancelled), "2");
}

TEST_F(ServiceTest, AReaderThatTakesNothingIsCutOffAndHoldsNobodyUp) {
  make({.most_unread_tokens = 50});
  const Ticket slow = submit({1, 2}, 3000);
  const Ticket other = submit({1, 3}, 40);
  EXPECT_EQ(tokens_of(all_pieces(other, 1)).size(), 40u);
  std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(service_->wait_idle(seconds(20)));
  const std::vector<Piece> pieces = slow.reply().take();
  ASSERT_EQ(pieces.size(), 51u);  // as many as the limit, and the end
  EXPECT_EQ(pieces.back().error_status, 408);
  EXPECT_NE(pieces.back().error.find("50 tokens"), std::string::npos) << pieces.back().error;
}

TEST_F(ServiceTest, RequestsThatCannotRunSayWhy) {
  make({});
  const std::vector<Piece> pieces = all_pieces(submit({1, 2}, 5000), 1);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].error_status, 400);
  EXPECT_NE(pieces[0].error.find("4096"), std::string::npos) << pieces[0].error;
}

TEST_F(ServiceTest, ShuttingDownRefusesTheNewAndEndsTheOld) {
  make({});
  {
    const Ticket ticket = submit({1, 2}, 4000);
    ASSERT_EQ(ticket.reply().wait(-1, Reply::Clock::now() + seconds(20)), Reply::Wake::kPieces);
    service_->refuse_new();
    EXPECT_EQ(refusal(1), 503);
    EXPECT_FALSE(service_->wait_idle(milliseconds(1)));
    service_->end_all(503, "closing time");
    const std::vector<Piece> pieces = all_pieces(ticket, 1);
    EXPECT_EQ(pieces.back().error_status, 503);
    EXPECT_EQ(pieces.back().error, "closing time");
  }
  expect_nothing_left();
}

TEST_F(ServiceTest, LogprobsSumToOneAndNameTheDrawnToken) {
  make({});
  const Ticket ticket = service_->submit({request({1, 2}, 5)}, 97);  // all of the vocabulary
  for (const Piece& piece : all_pieces(ticket, 1)) {
    ASSERT_EQ(piece.logprobs.size(), 98u);
    EXPECT_EQ(piece.logprobs[0].token, piece.token);
    EXPECT_EQ(piece.logprobs[1].token, piece.token);  // the most probable token was drawn
    EXPECT_EQ(piece.logprobs[0].logprob, piece.logprobs[1].logprob);
    double sum = 0;
    for (size_t i = 1; i < piece.logprobs.size(); ++i) {
      sum += std::exp(piece.logprobs[i].logprob);
      EXPECT_LE(piece.logprobs[i].logprob, piece.logprobs[i == 1 ? 1 : i - 1].logprob);
    }
    EXPECT_NEAR(sum, 1.0, 1e-5);
  }
}

// Log probabilities of a prompt come with the choice's first piece, also if the prompt takes
// several steps, and if no token is generated.
TEST_F(ServiceTest, LogprobsOfAPromptComeWithTheFirstPiece) {
  make({});
  std::vector<int32_t> prompt(700);  // the prefill budget is 512
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int32_t>(i * 7 % 90);
  for (const int32_t new_tokens : {0, 4}) {
    engine::Request scored = request(prompt, new_tokens);
    scored.logits = engine::LogitsMode::kAll;
    const std::vector<Piece> pieces = all_pieces(service_->submit({scored, scored}, 1), 2);
    std::vector<bool> has_come(2);
    for (const Piece& piece : pieces) {
      const auto choice = static_cast<size_t>(piece.choice);
      ASSERT_EQ(piece.prompt_logprobs.size(), has_come[choice] ? 0 : prompt.size() - 1);
      has_come[choice] = true;
      for (size_t i = 0; i < piece.prompt_logprobs.size(); ++i) {
        ASSERT_EQ(piece.prompt_logprobs[i].size(), 2u);
        ASSERT_EQ(piece.prompt_logprobs[i][0].token, prompt[i + 1]);
      }
    }
    EXPECT_EQ(has_come, std::vector<bool>(2, true));
  }
}

// In this checkpoint the embedding of one token is NaN. Requests with that token must get status
// 500, and no others.
TEST_F(ServiceTest, NanEndsItsRequestAlone) {
  constexpr int32_t kPoison = 7;
  decoder_ = poisoned_llama(kPoison, kContext);
  for (const std::string& method : testing::exact_methods()) {
    const std::vector<int32_t> wanted =
        testing::generate(*decoder_, {1, 2, 3}, 200, "contiguous", 512, kContext);
    make({}, method);
    {
      const Ticket good = submit({1, 2, 3}, 200), bad = submit({1, 2, kPoison}, 200);
      engine::Request prompt_alone = request({1, kPoison, 2}, 0);
      prompt_alone.logits = engine::LogitsMode::kAll;
      const Ticket scored = service_->submit({prompt_alone}, 1);
      for (const Ticket* ticket : {&bad, &scored}) {
        const std::vector<Piece> failed = all_pieces(*ticket, 1);
        EXPECT_EQ(failed.back().error_status, 500) << method;
        EXPECT_NE(failed.back().error.find("NaN"), std::string::npos) << failed.back().error;
      }
      EXPECT_EQ(tokens_of(all_pieces(good, 1)), wanted) << method;
    }
    EXPECT_EQ(tokens_of(all_pieces(submit({1, 2, 3}, 200), 1)), wanted) << method;  // still served
    expect_nothing_left();
  }
}

TEST(Reply, WakesForPiecesTimesAndAClosedPeer) {
  Reply reply(2);
  const auto soon = [] { return Reply::Clock::now() + milliseconds(20); };
  EXPECT_EQ(reply.wait(-1, soon()), Reply::Wake::kTimeout);
  EXPECT_TRUE(reply.push({.token = 1}));
  EXPECT_TRUE(reply.push({.token = 2}));
  EXPECT_FALSE(reply.push({.token = 3}));
  EXPECT_TRUE(reply.push({.finish = engine::FinishReason::kLength}));
  EXPECT_EQ(reply.wait(-1, soon()), Reply::Wake::kPieces);
  EXPECT_EQ(reply.take().size(), 3u);
  EXPECT_EQ(reply.wait(-1, soon()), Reply::Wake::kTimeout);
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  EXPECT_EQ(reply.wait(pair[0], soon()), Reply::Wake::kTimeout);
  ::close(pair[1]);
  EXPECT_EQ(reply.wait(pair[0], soon()), Reply::Wake::kPeerGone);
  ::close(pair[0]);
}

}  // namespace
}  // namespace reprise::server
