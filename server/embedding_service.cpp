#include "server/embedding_service.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/start_thread.h"
#include "core/base/steady_now.h"
#include "server/api_error.h"
#include "server/http.h"

namespace reprise::server {
namespace {

// Number of requests that take turns. Each of them holds its vectors in memory; requests that are
// further back in the queue hold no vectors yet.
constexpr std::ptrdiff_t kTurns = 8;

}  // namespace

struct EmbeddingService::State {
  struct Job {
    std::vector<sentence::TextTokens> texts;
    int64_t tokens = 0;
    Reply reply{1};  // has one piece: the end
    // Written by the worker's thread, and read by the request's once the end is in `reply`.
    std::vector<float> vectors = {};  // [texts, width]
    size_t done = 0;                  // texts whose vectors are computed
    engine::TokenEvent last = {};     // times for the metrics; guarded by the mutex
    bool has_ended = false;           // guarded by the mutex
  };
  using JobPointer = std::shared_ptr<Job>;

  sentence::Embedder& embedder;
  const int32_t most_requests;
  Metrics& metrics;

  std::mutex mutex;
  std::condition_variable work, idle;
  std::deque<JobPointer> queue;  // guarded by mutex; the first kTurns jobs take turns
  JobPointer running;            // guarded by mutex; the one whose step is computed, not in `queue`
  bool refuses_new = false;      // guarded by mutex
  bool stops = false;            // guarded by mutex
  std::thread thread;

  // The functions that take no lock are called with the mutex held, except step().

  [[nodiscard]] int64_t in_flight() const {
    return std::ssize(queue) + (running && !running->has_ended ? 1 : 0);
  }
  void show_standing() const {
    const auto waits = [](const JobPointer& job) {
      return job->last.times.admitted == engine::kNotYet;
    };
    const auto waiting = std::count_if(queue.begin(), queue.end(), waits);
    metrics.standing(waiting, in_flight() - waiting, 0, 0);
  }

  // Ends a request, unless it has ended. `status` is 0 if all its vectors are computed, otherwise
  // the HTTP status of the error.
  void finish(const JobPointer& job, const std::string& outcome, int status,
              const std::string& reason) {
    if (std::exchange(job->has_ended, true)) return;
    std::erase(queue, job);
    job->last.times.done = steady_now_ns();
    job->last.finish = status == 0 ? engine::FinishReason::kStop : engine::FinishReason::kCancelled;
    metrics.request(outcome, job->last, job->tokens, 0);
    show_standing();
    (void)job->reply.push({.finish = job->last.finish, .error_status = status, .error = reason});
    if (in_flight() == 0) idle.notify_all();
  }

  // Computes the next step of a request, without the mutex.
  void step(Job& job) {
    const auto width = static_cast<size_t>(embedder.width());
    job.vectors.resize(job.texts.size() * width);
    const size_t end = sentence::TextReader::end_of_step(job.texts, job.done);
    const auto texts =
        std::span<const sentence::TextTokens>(job.texts).subspan(job.done, end - job.done);
    const auto vectors = std::span(job.vectors).subspan(job.done * width, texts.size() * width);
    engine::StepReport report{.start_ns = steady_now_ns()};
    embedder.read(texts, vectors);
    report.end_ns = steady_now_ns();
    for (const sentence::TextTokens& text : texts)
      report.prefill_tokens += static_cast<int32_t>(text.ids.size());
    metrics.step(report);
    if (!std::all_of(vectors.begin(), vectors.end(), [](float x) { return std::isfinite(x); }))
      raise("the model's vector is not finite; its weights or inputs are corrupt");
    job.done = end;
  }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      work.wait(lock, [&] { return stops || !queue.empty(); });
      if (queue.empty()) return;
      running = std::move(queue.front());
      queue.pop_front();
      Job& job = *running;
      if (job.last.times.admitted == engine::kNotYet) job.last.times.admitted = steady_now_ns();
      show_standing();
      lock.unlock();
      std::string error;
      try {
        step(job);
      } catch (const std::exception& failure) {
        error = failure.what();
      }
      lock.lock();
      const JobPointer job_of_step = std::exchange(running, nullptr);
      if (job.has_ended) continue;
      if (!error.empty())
        finish(job_of_step, "error", 500, error);
      else if (job.done == job.texts.size())
        finish(job_of_step, "stop", 0, "");
      else
        queue.insert(queue.begin() + std::min(std::ssize(queue), kTurns - 1), job_of_step);
    }
  }
};

EmbeddingService::EmbeddingService(sentence::Embedder& embedder, int32_t most_requests,
                                   Metrics& metrics)
    : state_(new State{embedder, most_requests, metrics}) {
  state_->show_standing();
  state_->thread = start_thread("to serve requests", [state = state_.get()] { state->run(); });
}

EmbeddingService::~EmbeddingService() {
  EmbeddingService::refuse_new();
  EmbeddingService::end_all(503, "the server is shutting down");
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stops = true;
  }
  state_->work.notify_one();
  state_->thread.join();
}

const sentence::Embedder& EmbeddingService::embedder() const { return state_->embedder; }

std::vector<float> EmbeddingService::vectors_of(std::vector<sentence::TextTokens> texts, int socket,
                                                Reply::Clock::time_point until) {
  State& s = *state_;
  const auto job = std::make_shared<State::Job>();
  job->texts = std::move(texts);
  for (const sentence::TextTokens& text : job->texts) job->tokens += std::ssize(text.ids);
  REPRISE_CHECK(job->tokens > 0, "a request without texts");
  job->last.times.intended = job->last.times.submitted = steady_now_ns();
  {
    const std::scoped_lock lock(s.mutex);
    check_room(s.refuses_new, s.in_flight(), 1, s.most_requests);
    s.queue.push_back(job);
    s.show_standing();
    s.work.notify_one();
  }
  const auto give_up = [&] {
    const std::scoped_lock lock(s.mutex);
    s.finish(job, "cancelled", 408, "");
  };
  switch (job->reply.wait(socket, until)) {
    case Reply::Wake::kPeerGone:
      give_up();
      throw PeerGone();
    case Reply::Wake::kTimeout:
      give_up();
      throw ApiError(408,
                     "the request took longer than it may; send fewer inputs at once, or start "
                     "the server with a larger --request-timeout");
    case Reply::Wake::kPieces:
      break;
  }
  const Piece end = job->reply.take().front();
  if (end.error_status != 0) throw ApiError(end.error_status, end.error);
  return std::move(job->vectors);
}

void EmbeddingService::refuse_new() {
  const std::scoped_lock lock(state_->mutex);
  state_->refuses_new = true;
}

bool EmbeddingService::refuses_new() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->refuses_new;
}

bool EmbeddingService::wait_idle(std::chrono::milliseconds most) const {
  std::unique_lock lock(state_->mutex);
  return state_->idle.wait_for(lock, most, [&] { return state_->in_flight() == 0; });
}

void EmbeddingService::end_all(int status, const std::string& reason) {
  const std::scoped_lock lock(state_->mutex);
  if (const State::JobPointer running = state_->running)
    state_->finish(running, "cancelled", status, reason);
  while (!state_->queue.empty())
    state_->finish(State::JobPointer(state_->queue.front()), "cancelled", status, reason);
}

}  // namespace reprise::server
