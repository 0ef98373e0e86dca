// Clients of a service come, read at once, late or never, stop, and leave in mid-stream, while
// steps, files and memory fail. The simulation calls the service's turns itself, so that the seed
// decides the order of all events. Each client must get the tokens that it gets alone, or be told
// why not, and nothing may be left.
#include <algorithm>
#include <list>
#include <sstream>

#include "server/api_error.h"
#include "server/service.h"
#include "tests/simulation/drawn_engine.h"

namespace reprise::simulation {
namespace {

class Client {
 public:
  Client(Random& random, const Text& text, size_t choices, int32_t new_tokens)
      : text_(text), new_tokens_(new_tokens), choices_(choices) {
    if (random.one_in(4)) pause_ = random.pick(2, 40);
    if (random.one_in(5)) leaves_in_ = random.pick(0, 60);
    if (random.one_in(8)) stops_in_ = random.pick(1, 30);
  }

  void begins(server::Ticket ticket) { ticket_.emplace(std::move(ticket)); }
  // The number of choices whose end the client has not been told.
  [[nodiscard]] int32_t open() const {
    return static_cast<int32_t>(std::count_if(choices_.begin(), choices_.end(),
                                              [](const Choice& one) { return !one.has_ended; }));
  }
  [[nodiscard]] bool is_done() const { return open() == 0; }
  [[nodiscard]] bool is_gone() const { return !ticket_; }

  // Reads, stops or leaves, if it is time for that.
  void turn(Counts& counts, Canary canary) {
    if (is_gone()) return;
    if (leaves_in_ > 0 && --leaves_in_ == 0) {
      ++counts["clients that left"];
      ticket_.reset();
      return;
    }
    if (stops_in_ > 0 && --stops_in_ == 0) {
      ++counts["clients that stopped a choice"];
      ticket_->stop(0);
      choices_[0].is_stopped = true;
    }
    if (++age_ % pause_ == 0) read(counts, canary);
  }

 private:
  struct Choice {
    int32_t tokens = 0;
    bool is_stopped = false, has_ended = false;
  };

  void read(Counts& counts, Canary canary) {
    for (const server::Piece& piece : ticket_->reply().take()) {
      if (canary == Canary::kLostEnd && piece.finish != engine::FinishReason::kNone) continue;
      take(piece, counts);
    }
  }
  void take(const server::Piece& piece, Counts& counts) {
    using engine::FinishReason;
    Choice& choice = choices_.at(static_cast<size_t>(piece.choice));
    demand(!choice.has_ended, "choice {} goes on after its end", piece.choice);
    if (piece.token >= 0) {
      const int32_t want = text_.continuation[static_cast<size_t>(choice.tokens++)];
      demand(piece.token == want, "token {} of a client is {}, alone it is {}", choice.tokens - 1,
             piece.token, want);
    }
    if (piece.finish == FinishReason::kNone) return;
    choice.has_ended = true;
    const int status = piece.error_status;
    ++counts["answers with status " + std::to_string(status == 0 ? 200 : status)];
    if (status == 408) demand(pause_ > 1, "a client that always reads is told that it is slow");
    demand(status == 0 || status == 408 || status == 500 || status == 503, "status {}: {}", status,
           piece.error);
    if (status == 0 && piece.finish == FinishReason::kLength)
      demand(choice.tokens == new_tokens_, "a client gets {} of {} tokens", choice.tokens,
             new_tokens_);
    if (status == 0 && piece.finish == FinishReason::kCancelled)
      demand(choice.is_stopped, "an answer is cancelled that nobody stopped");
  }

  const Text& text_;
  int32_t new_tokens_;
  std::vector<Choice> choices_;
  int32_t pause_ = 1, leaves_in_ = 0, stops_in_ = 0, age_ = 0;  // turns; 0: never
  std::optional<server::Ticket> ticket_;
};

// The requests that the metrics count as ended, whatever the outcome.
double ended_requests(const server::Metrics& metrics) {
  double ended = 0;
  std::istringstream lines(metrics.text());
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("reprise_requests_total{"))
      ended += std::stod(line.substr(line.rfind(' ')));
  return ended;
}

class ServingRun {
 public:
  ServingRun(uint64_t seed, Canary canary, Counts& counts)
      : random_(seed),
        canary_(canary),
        counts_(counts),
        drawn_(random_, canary, /*rarity=*/10),
        options_({.most_requests = random_.pick(4, 16),
                  .most_unread_tokens = random_.pick(2, 12),
                  .has_thread = false}),
        service_(drawn_.engine(), options_, metrics_) {}

  void run() {
    const int64_t most_clients = random_.pick(8, 24);
    for (int turns = 0; came_ < most_clients || !clients_.empty(); ++turns) {
      demand(turns < 5000, "{} clients have no end after {} turns ({})", clients_.size(), turns,
             drawn_.method());
      if (came_ < most_clients && random_.one_in(2)) come();
      if (random_.one_in(400)) end_all();
      drawn_.disturbed(counts_, [&] { service_.turn(); });
      ++counts_["turns"];
      drawn_.disturb(counts_);
      for (Client& client : clients_) client.turn(counts_, canary_);
      forget_clients();
    }
    drain();
    drawn_.check_end();
    if (server::Metrics::absence().empty())
      demand(ended_requests(metrics_) == static_cast<double>(accepted_),
             "{} requests were accepted, and the metrics count {}", accepted_,
             ended_requests(metrics_));
  }

 private:
  void come() {
    ++came_;
    const Text& text = random_.of(std::span<const Text>(drawn_.texts()));
    const int32_t choices = random_.one_in(4) ? 2 : 1;
    const int32_t new_tokens =
        random_.pick(random_.one_in(2) ? 1 : DrawnEngine::kMostNew - 4, DrawnEngine::kMostNew);
    int32_t open = abandoned_;  // an upper bound on the requests that the service has
    for (const Client& client : clients_) open += client.open();
    std::vector<engine::Request> requests(
        static_cast<size_t>(choices),
        {.prompt = text.prompt, .max_new_tokens = new_tokens, .priority = random_.pick(0, 1)});
    Client client(random_, text, static_cast<size_t>(choices), new_tokens);
    try {
      client.begins(service_.submit(std::move(requests)));
      accepted_ += choices;
      clients_.push_back(std::move(client));
    } catch (const server::ApiError& error) {
      demand(error.status() == 429, "a client is refused with status {}", error.status());
      demand(open + choices > options_.most_requests,
             "a client is refused while {} of {} requests are open", open, options_.most_requests);
      ++counts_["clients refused"];
    }
  }
  // Removes clients that have their answers or have left. The service ends the open choices of
  // clients that left in its next step that succeeds.
  void forget_clients() {
    for (const Client& client : clients_)
      if (client.is_gone()) abandoned_ += client.open();
    std::erase_if(clients_,
                  [](const Client& client) { return client.is_done() || client.is_gone(); });
    if (service_.wait_idle(std::chrono::milliseconds(0))) abandoned_ = 0;
  }
  void end_all() {
    ++counts_["ends of all answers"];
    service_.end_all(503, "the simulated end of all answers");
  }
  void drain() {
    service_.refuse_new();
    for (int turns = 0; !service_.wait_idle(std::chrono::milliseconds(0)); ++turns) {
      demand(turns < 2000, "requests of clients that left never end ({})", drawn_.method());
      service_.turn();
    }
    while (drawn_.engine().has_work()) service_.turn();
  }

  Random random_;
  Canary canary_;
  Counts& counts_;
  DrawnEngine drawn_;
  server::ServiceOptions options_;
  server::Metrics metrics_;
  server::Service service_;
  std::list<Client> clients_;
  int64_t came_ = 0, accepted_ = 0;
  int32_t abandoned_ = 0;  // choices of clients that left, since the service was last idle
};

void run(uint64_t seed, Canary canary, Counts& counts) { ServingRun(seed, canary, counts).run(); }

}  // namespace

Scenario serving_scenario() {
  return {.name = "serving",
          .run = run,
          .expected = {"turns", "clients that left", "clients that stopped a choice",
                       "clients refused", "ends of all answers", "answers with status 200",
                       "answers with status 408", "answers with status 500",
                       "answers with status 503", "disk failures", "swapped in"},
          .canaries = {Canary::kLostEnd, Canary::kLeakedBlock, Canary::kStaleReuse}};
}

}  // namespace reprise::simulation
