#include "experiments/kinds/serving/load_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "core/base/error.h"
#include "core/base/visible.h"
#include "core/tokenizer/utf8.h"
#include "experiments/serving/reuse.h"

namespace reprise::server {
namespace {

namespace serving = experiments::serving;
using serving::Outcome;
using serving::TargetEvent;

// Time after which an idle connection is closed, so that a server with one thread per connection
// gets the thread back.
constexpr std::chrono::seconds kIdle{2};

struct Job {
  int64_t id = 0;
  workloads::ServingRequest request;
  bool is_prefix = false;
};

// Returns "" if the server counts as many prompt tokens as were sent, or one more, since it may put
// a token in front. With any other count the server computed another prompt; returns this fault in
// words.
std::string prompt_fault(const Job& job, const CompletionAnswer& answer) {
  const int64_t sent = std::ssize(job.request.prompt);
  if (answer.prompt_tokens < 0 || answer.prompt_tokens == sent || answer.prompt_tokens == sent + 1)
    return "";
  return fmt::format("the server counts {} tokens in a prompt of {}", answer.prompt_tokens, sent);
}

// Drops the ids of a server that has another tokenizer, because to the client's tokenizer they mean
// another text. A decoder drops the spaces before a text's first word. A server may leave out a
// character that the last token does not complete.
void drop_foreign_ids(const Tokenizer& own, CompletionAnswer& answer) {
  const auto trimmed = [](std::string text) {
    while (text.ends_with(tokenizer::kReplacement))
      text.resize(text.size() - tokenizer::kReplacement.size());
    return text.erase(0, text.find_first_not_of(' '));
  };
  if (trimmed(own.decode(answer.token_ids)) != trimmed(answer.text)) answer.token_ids.clear();
}

// Events of a request from the server's answer: its tokens, then its end.
std::vector<TargetEvent> events_of(const Job& job, Exchange exchange, PromptForm form,
                                   bool is_cancelled) {
  std::vector<TargetEvent> events;
  CompletionAnswer& answer = exchange.answer;
  if (exchange.error.empty() && form == PromptForm::kTokenIds)
    exchange.error = prompt_fault(job, answer);
  const auto came = std::ssize(answer.token_s);
  const int64_t wanted = job.request.output_tokens;
  if (exchange.error.empty() && came != wanted)
    exchange.error = came > wanted
                         ? "more tokens than were asked for"
                         : fmt::format("ended before its last token{} (finish_reason \"{}\")",
                                       answer.tells_tokens ? "" : ", as far as its events tell",
                                       visible(answer.finish_reason.substr(0, 100), ""));
  for (int64_t i = 0; i < std::min<int64_t>(came, wanted); ++i) {
    TargetEvent& event = events.emplace_back(TargetEvent{
        .request = job.id, .time_s = answer.token_s[static_cast<size_t>(i)], .tokens = 1});
    if (!answer.token_ids.empty()) event.token_ids = {answer.token_ids[static_cast<size_t>(i)]};
  }
  TargetEvent end{.request = job.id, .time_s = exchange.end_s, .is_end = true};
  if (!exchange.error.empty()) {
    end.outcome = is_cancelled ? Outcome::kCancelled : Outcome::kFailed;
    end.reason = exchange.error;
  }
  end.sent_s = exchange.sent_s;
  end.prompt_tokens = answer.prompt_tokens;
  end.reasoning_tokens = std::min<int64_t>(answer.reasoning_tokens, wanted);
  const int64_t prompt =
      answer.prompt_tokens >= 0 ? answer.prompt_tokens : std::ssize(job.request.prompt);
  if (answer.cached_tokens >= 0)
    end.cached_tokens = std::min(answer.cached_tokens, prompt);
  else if (answer.prompt_tokens >= 0)
    end.cached_tokens = serving::kUsageWithoutCached;
  events.push_back(std::move(end));
  return events;
}

class ServerTarget final : public serving::Target {
 public:
  ServerTarget(const LoadOptions& options, const ServerFacts& facts, const serving::Clock& clock)
      : options_(options), facts_(facts), clock_(clock) {}
  ~ServerTarget() override {
    cancel_all();
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
      for (const auto& worker : workers_) worker->wake.notify_one();
    }
    for (const auto& worker : workers_) worker->thread.join();
  }

  bool flush() override { return false; }
  void declare_prefix(const workloads::DeclaredPrefix& prefix) override {
    start({.request = {.prompt = prefix.tokens, .output_tokens = 1}, .is_prefix = true});
  }
  void submit(int64_t id, workloads::ServingRequest request, double) override {
    start({.id = id, .request = std::move(request)});
  }
  void advance(double until_s, serving::TargetReport& report) override {
    std::unique_lock lock(mutex_);
    const bool had_work = under_way_ > 0;  // no event reports the end of a prefix
    const auto has_news = [&] {
      return !events_.empty() || !prefix_error_.empty() || (had_work && under_way_ == 0);
    };
    const std::chrono::duration<double> wait(until_s - clock_.now_s());
    if (wait.count() > 0) news_.wait_for(lock, wait, has_news);
    if (!prefix_error_.empty())
      raise("a prefix could not be computed: {}", std::exchange(prefix_error_, ""));
    std::move(events_.begin(), events_.end(), std::back_inserter(report.events));
    events_.clear();
  }
  [[nodiscard]] bool has_work() const override {
    const std::lock_guard lock(mutex_);
    return under_way_ > 0 || !events_.empty();
  }
  void cancel_all() override {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = under_way_ > 0;
    for (const Job& job : queue_) finish(job, given_up(clock_.now_s()));
    queue_.clear();
    for (const auto& worker : workers_)
      if (worker->job) worker->client.interrupt();
  }

 private:
  struct Worker {
    Worker(const ServerPlace& place, const serving::Clock& clock) : client(place, clock) {}
    CompletionClient client;
    std::optional<Job> job;        // guarded by mutex_
    std::condition_variable wake;  // notified for a new job, and at the end
    std::thread thread;
  };

  void start(Job job) {
    const std::lock_guard lock(mutex_);
    ++under_way_;
    if (!idle_.empty()) {
      // Takes the worker that became idle last, so that connections that are not needed stay idle
      // long enough to be closed.
      Worker* worker = idle_.back();
      idle_.pop_back();
      worker->job = std::move(job);
      worker->wake.notify_one();
    } else if (std::ssize(workers_) < options_.most_connections) {
      start_worker(std::move(job));
    } else {
      queue_.push_back(std::move(job));
    }
  }

  // mutex_ must be held. If the system gives no more threads, the job waits for an existing worker.
  // Throws Error if there is none.
  void start_worker(Job job) {
    Worker& worker = *workers_.emplace_back(std::make_unique<Worker>(options_.place, clock_));
    worker.job = std::move(job);
    try {
      worker.thread = std::thread([this, &worker] { work(worker); });
    } catch (const std::system_error& error) {
      queue_.push_back(std::move(*worker.job));
      workers_.pop_back();
      if (!workers_.empty()) return;
      queue_.clear();
      --under_way_;
      raise("the system starts no thread for a request: {}", error.what());
    }
  }

  void work(Worker& worker) {
    std::unique_lock lock(mutex_);
    while (wait_for_job(worker, lock)) {
      const Job& job = *worker.job;  // only this thread uses the job until reset()
      lock.unlock();
      Exchange exchange = worker.client.complete(
          question_of(options_, facts_, job.request.prompt, job.request.output_tokens),
          is_cancelled_, [&] { begin(job); });
      if (options_.form != PromptForm::kTokenIds)
        drop_foreign_ids(*options_.tokenizer, exchange.answer);
      lock.lock();
      finish(job, std::move(exchange));
      worker.job.reset();
      if (!queue_.empty()) {
        worker.job = std::move(queue_.front());
        queue_.pop_front();
      } else {
        idle_.push_back(&worker);
      }
    }
  }

  // Returns false if there will be no more jobs.
  bool wait_for_job(Worker& worker, std::unique_lock<std::mutex>& lock) {
    const auto is_called = [&] { return worker.job || is_ending_; };
    if (!worker.wake.wait_for(lock, kIdle, is_called)) {
      worker.client.close();
      worker.wake.wait(lock, is_called);
    }
    return worker.job.has_value();
  }

  // Reports that the job's first token has come.
  void begin(const Job& job) {
    if (job.is_prefix) return;
    const std::lock_guard lock(mutex_);
    events_.push_back({.request = job.id, .time_s = -1, .has_begun = true});
    news_.notify_one();
  }

  // mutex_ must be held.
  void finish(const Job& job, Exchange exchange) {
    if (job.is_prefix) {
      if (!exchange.error.empty() && !is_cancelled_) prefix_error_ = exchange.error;
    } else {
      std::vector<TargetEvent> events =
          events_of(job, std::move(exchange), options_.form, is_cancelled_);
      std::move(events.begin(), events.end(), std::back_inserter(events_));
    }
    if (--under_way_ == 0) is_cancelled_ = false;
    news_.notify_one();
  }

  const LoadOptions options_;
  const ServerFacts facts_;
  const serving::Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::atomic<bool> is_cancelled_ = false;
  // The members below are guarded by mutex_.
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
  std::deque<Job> queue_;
  std::vector<TargetEvent> events_;
  std::string prefix_error_;
  int64_t under_way_ = 0;
  bool is_ending_ = false;
};

std::string quoted(const std::string& text) { return json_text(text); }

std::string text_of(const Value& object, const char* key) {
  const Value& found = field_of(object, key);
  return found.is_text() ? found.text() : "";
}

// True if the tokenizer reads the text of a special token as this token. A tokenizer.json does, a
// tokenizer.model does not.
bool reads_special_tokens(const Tokenizer& tokenizer) {
  const std::optional<int32_t> eos = tokenizer.eos_id();
  return eos && tokenizer.encode(tokenizer.token_text(*eos), {.add_special = false}) ==
                    std::vector<int32_t>{*eos};
}

// Returns a prompt's text without the special tokens that the server adds itself: its tokenizer
// adds tokens such as <s>, which may stand behind a salt here, and the template of a chat adds all.
// Special tokens that the tokenizer would read as ordinary text are left out, too.
std::string text_of_prompt(const LoadOptions& options, std::vector<int32_t> prompt) {
  const bool skips_special =
      options.form == PromptForm::kChat || !reads_special_tokens(*options.tokenizer);
  const std::vector<int32_t> added = options.tokenizer->encode("");
  std::erase_if(
      prompt, [&](int32_t id) { return std::find(added.begin(), added.end(), id) != added.end(); });
  return options.tokenizer->decode(prompt, {.skip_special = skips_special});
}

// Parses a JSON text. Returns null if `body` is not JSON.
Value parsed(const std::string& body) {
  try {
    return parse_json(body, "an answer");
  } catch (const Error&) {
    return nullptr;
  }
}

// Reads the model (unless the user named one) and its owner from the server's list.
void read_models(const std::string& body, ServerFacts& facts) {
  const Value list = parsed(body);
  const Value& models = field_of(list, "data");
  for (const Value& model : models.is_list() ? models.list() : Values()) {
    const std::string id = text_of(model, "id");
    if (id.empty() || (!facts.model.empty() && id != facts.model)) continue;
    facts.model = id;
    facts.owner = text_of(model, "owned_by");
    return;
  }
}

// Returns a sentence that tells what the user can do about a refused request; "" if that is not
// known.
const char* remedy_for(int status, PromptForm form) {
  if (status == 401 || status == 403) return " It wants another --api-key.";
  const bool is_refused = status == 400 || status == 422;
  return is_refused && form == PromptForm::kTokenIds
             ? " A server that takes no token ids gets text by --text."
             : "";
}

// ask_server(), with an existing client.
ServerFacts facts_from(CompletionClient& client, const LoadOptions& options,
                       const std::vector<int32_t>& prompt, const std::atomic<bool>& stop) {
  const std::string& url = options.place.url;
  ServerFacts facts{.model = options.model};
  const std::string models = client.models(/*is_named=*/!options.model.empty());
  read_models(models, facts);
  if (facts.model.empty()) {
    const auto [origin, api] = parse_server_url(url);
    raise("{}{}/models lists no model (\"{}\"). Name one with --model.", origin, api,
          visible(models.substr(0, 100), ""));
  }
  const auto ask = [&] { return client.complete(question_of(options, facts, prompt, 1), stop); };
  Exchange exchange = ask();
  const auto is_refused = [&] { return exchange.status == 400 || exchange.status == 422; };
  for (bool* takes : {&facts.takes_extensions, &facts.takes_usage}) {
    if (!is_refused()) break;
    *takes = false;
    exchange = ask();
  }
  if (!exchange.error.empty())
    raise("{}: a request for one token after a prompt of {} tokens: {}.{}", url, prompt.size(),
          exchange.error, remedy_for(exchange.status, options.form));
  if (exchange.answer.token_s.empty())
    raise("{}: it answered a request for one token without any (finish_reason \"{}\")", url,
          visible(exchange.answer.finish_reason.substr(0, 100), ""));
  facts.tells_cached_tokens = exchange.answer.cached_tokens >= 0;
  facts.tells_tokens = exchange.answer.tells_tokens;
  if (options.form == PromptForm::kChat) facts.template_tokens = exchange.answer.prompt_tokens;
  facts.version = text_of(parsed(client.page("/version")), "version");
  return facts;
}

}  // namespace

std::string name_of(PromptForm form) {
  switch (form) {
    case PromptForm::kTokenIds:
      return "token ids";
    case PromptForm::kText:
      return "text";
    case PromptForm::kChat:
      return "chat";
  }
  return "";
}

std::vector<int32_t> short_prompt(const LoadOptions& options, const std::vector<int32_t>& prompt) {
  if (options.form == PromptForm::kTokenIds || !options.tokenizer) return {prompt.front()};
  const auto has_text = [&](int32_t id) { return !options.tokenizer->decode({&id, 1}).empty(); };
  const auto found = std::find_if(prompt.begin(), prompt.end(), has_text);
  return {found == prompt.end() ? prompt.front() : *found};
}

Question question_of(const LoadOptions& options, const ServerFacts& facts,
                     const std::vector<int32_t>& prompt, int64_t output_tokens) {
  const bool is_chat = options.form == PromptForm::kChat;
  const std::string text = options.form == PromptForm::kTokenIds
                               ? fmt::format("[{}]", fmt::join(prompt, ","))
                               : quoted(text_of_prompt(options, prompt));
  const std::string asked =
      is_chat ? fmt::format(R"("messages":[{{"role":"user","content":{}}}])", text)
              : fmt::format(R"("prompt":{})", text);
  std::string body = fmt::format(R"({{"model":{},{},"max_tokens":{},"temperature":0,"stream":true)",
                                 quoted(facts.model), asked, output_tokens);
  if (facts.takes_extensions)
    body += R"(,"ignore_eos":true,"return_token_ids":true,"timings_per_token":true,)"
            R"("stream_options":{"include_usage":true,"continuous_usage_stats":true})";
  else if (facts.takes_usage)
    body += R"(,"stream_options":{"include_usage":true})";
  return {.path = is_chat ? "/chat/completions" : "/completions",
          .body = body + "}",
          .wanted = output_tokens};
}

ServerFacts ask_server(const LoadOptions& options, const std::vector<int32_t>& prompt,
                       const serving::Clock& clock, const std::atomic<bool>& stop) {
  if (options.form != PromptForm::kTokenIds && !options.tokenizer)
    raise("prompts can be sent as text only of a model that has a tokenizer");
  CompletionClient client(options.place, clock);
  return interruptible(client, stop, [&] { return facts_from(client, options, prompt, stop); });
}

std::unique_ptr<serving::Target> make_server_target(const LoadOptions& options,
                                                    const ServerFacts& facts,
                                                    const serving::Clock& clock) {
  return std::make_unique<ServerTarget>(options, facts, clock);
}

}  // namespace reprise::server
