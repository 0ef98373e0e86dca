// Requests arrive, are cancelled, expire and are preempted, prefixes are declared and dropped, and
// steps, files and memory fail. Each request must get the tokens that it gets alone, and nothing
// may be left.
#include <map>
#include <set>

#include "tests/simulation/drawn_engine.h"

namespace reprise::simulation {
namespace {

class EngineRun {
 public:
  EngineRun(uint64_t seed, Canary canary, Counts& counts)
      : random_(seed), drawn_(random_, canary), counts_(counts) {
    drawn_.within_step = [this] {
      if (random_.one_in(200)) cancel_any();
    };
    drawn_.engine().observe_logits([this](const engine::LogitsRow& row) { see(row); });
  }

  void run() {
    const int64_t requests = random_.pick(10, 30);
    for (int steps = 0; next_ < requests || drawn_.engine().has_work(); ++steps) {
      demand(steps < 5000, "{} requests have not ended after {} steps ({})", open_.size(), steps,
             drawn_.method());
      if (next_ < requests) submit_some(requests);
      if (random_.one_in(60)) cancel_any();
      if (next_ < requests && random_.one_in(5)) change_prefixes();
      const std::map<engine::RequestId, int32_t> shown = shown_;
      const auto report = drawn_.step(counts_);
      if (!report) shown_ = shown;  // a later step shows the rows again
      if (report)
        for (const engine::TokenEvent& event : report->events) take(event);
      drawn_.disturb(counts_);
    }
    demand(open_.empty(), "{} requests never ended", open_.size());
    while (!names_.empty()) drop_prefix(*names_.begin());
    drawn_.check_end();
  }

 private:
  struct Open {
    const Text* text = nullptr;
    int32_t new_tokens = 0, tokens = 0;
    bool is_scored = false, is_cancelled = false;
  };

  void submit_some(int64_t requests) {
    for (int32_t some = random_.pick(0, 5); some > 0 && next_ < requests; --some) {
      if (open_.size() > 12) return;
      Open open{.text = &random_.of(std::span<const Text>(drawn_.texts())),
                .new_tokens = random_.pick(random_.one_in(2) ? 0 : DrawnEngine::kMostNew - 4,
                                           DrawnEngine::kMostNew),
                .is_scored = random_.one_in(8)};
      drawn_.engine().submit(
          {.id = next_,
           .prompt = open.text->prompt,
           .max_new_tokens = open.new_tokens,
           .logits = open.is_scored ? engine::LogitsMode::kAll : engine::LogitsMode::kNone,
           .priority = random_.pick(0, 1)});
      open_[next_++] = open;
    }
  }

  void cancel_any() {
    if (open_.empty()) return;
    auto entry = open_.begin();
    std::advance(entry, random_.pick(0, static_cast<int32_t>(open_.size()) - 1));
    // cancel() returns false for a request that has already ended, although only the next step
    // reports its end.
    if (drawn_.engine().cancel(entry->first)) entry->second.is_cancelled = true;
  }

  void change_prefixes() {
    const std::string name = "prefix " + std::to_string(random_.pick(0, 4));
    if (names_.contains(name)) return drop_prefix(name);
    if (names_.size() == DrawnEngine::kMostPrefixes) return;
    drawn_.engine().declare_prefix(
        name, random_.of(std::span<const std::vector<int32_t>>(drawn_.prefixes())));
    names_.insert(name);
    ++counts_["prefixes"];
  }
  void drop_prefix(const std::string& name) {
    const std::string dropped = name;  // a copy, because erase() destroys the set's own string
    drawn_.engine().drop_prefix(dropped);
    names_.erase(dropped);
  }

  void see(const engine::LogitsRow& row) {
    const Open& open = open_.at(row.request);
    int32_t& shown = shown_[row.request];
    demand(row.token == shown, "request {} shows token {} after {}", row.request, row.token,
           shown - 1);
    ++shown;
    const int32_t want = open.text->followers[static_cast<size_t>(row.token)];
    demand(row.logits[static_cast<size_t>(want)] == 1.0f,
           "request {} shows other logits for token {} than alone ({})", row.request, row.token,
           drawn_.method());
    if (random_.one_in(300)) {
      ++counts_["observers that failed"];
      throw StepLost("the simulated observer failed");
    }
  }

  void take(const engine::TokenEvent& event) {
    demand(open_.contains(event.request), "request {} ends twice, or never was: {}", event.request,
           event.reason);
    Open& open = open_.at(event.request);
    if (event.has_token()) {
      demand(event.index == open.tokens, "request {} has token {} after {}", event.request,
             event.index, open.tokens - 1);
      const int32_t want = open.text->continuation[static_cast<size_t>(open.tokens++)];
      demand(event.token == want, "token {} of request {} is {}, alone it is {} ({})", event.index,
             event.request, event.token, want, drawn_.method());
    }
    using engine::FinishReason;
    if (event.finish == FinishReason::kNone) return;
    switch (event.finish) {
      case FinishReason::kLength:
        ++counts_["served"];
        demand(open.tokens == open.new_tokens, "request {} ends after {} of {} tokens",
               event.request, open.tokens, open.new_tokens);
        if (open.is_scored)
          demand(shown_[event.request] ==
                     std::ssize(open.text->prompt) + std::max(0, open.new_tokens - 1),
                 "request {} was shown {} rows", event.request, shown_[event.request]);
        break;
      case FinishReason::kCancelled:
        ++counts_["cancelled"];
        demand(open.is_cancelled, "request {} is cancelled by nobody", event.request);
        break;
      default:
        demand(false, "request {} ends by {}: {}", event.request, engine::name_of(event.finish),
               event.reason);
    }
    open_.erase(event.request);
    shown_.erase(event.request);
  }

  Random random_;
  DrawnEngine drawn_;
  Counts& counts_;
  int64_t next_ = 0;
  std::map<engine::RequestId, Open> open_;
  std::map<engine::RequestId, int32_t> shown_;
  std::set<std::string> names_;
};

void run(uint64_t seed, Canary canary, Counts& counts) { EngineRun(seed, canary, counts).run(); }

}  // namespace

Scenario engine_scenario() {
  return {.name = "engine",
          .run = run,
          .expected = {"steps", "steps that failed", "steps without memory", "steps with NaN",
                       "observers that failed", "disk failures", "damaged files", "swapped out",
                       "swapped in", "swap without room", "swap failures", "preemptions",
                       "prefixes", "served", "cancelled"},
          .canaries = {Canary::kLeakedBlock, Canary::kEarlyRelease, Canary::kStaleReuse,
                       Canary::kSwappedRuns}};
}

}  // namespace reprise::simulation
