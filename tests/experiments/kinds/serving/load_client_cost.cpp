// Measures the cost of the load client and the error of its times, with a server of known times in
// another process.
//
//   load_client_cost [STREAMS [TOKENS [GAP_MS [FILE]]]]
//
// STREAMS answers run at once in a closed loop. Each has TOKENS tokens, one every GAP_MS. Results
// are printed, and written to FILE as JSON: tokens a second, in all and for each second of the
// client's processor time; the error of the time to the first token, which is the client's time
// minus the server's (from the request's arrival to the write of the token); and how late requests
// are sent. The lateness is measured in an open loop (200 requests, 20 ms apart).
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/fields.h"
#include "experiments/kinds/serving/load_client.h"
#include "experiments/serving/run.h"
#include "results/provenance.h"
#include "results/statistics.h"
#include "tests/experiments/kinds/serving/echo_server.h"
#include "tests/experiments/serving/simulated_server.h"
#include "tests/support/json.h"

namespace reprise::server {
namespace {

namespace serving = experiments::serving;

constexpr int64_t kMostRequests = 1 << 16;

// Written by the server's process and read by the client's.
struct Shared {
  std::atomic<int> port;
  std::atomic<bool> is_over;
  double came_s[kMostRequests];     // arrival; both processes use the same clock
  double written_s[kMostRequests];  // when the first token was written
};

// The last token of EvenSource's prompts tells the request.
int64_t index_of(const EchoRequest& request) {
  const size_t end = request.body.find(']');
  const size_t comma = request.body.rfind(',', end);
  return end == std::string::npos ? -1 : std::stoll(request.body.substr(comma + 1)) - 100;
}

[[noreturn]] void serve(Shared& shared, double gap_s) {
  const serving::SteadyClock clock;
  {
    EchoServer server(
        [&](const EchoRequest& request) {
          if (request.path == "/v1/models") return model_list();
          if (const int64_t i = index_of(request); i >= 0) shared.came_s[i] = clock.now_s();
          return completion(max_tokens_of(request), gap_s, gap_s, Telling::kRunningUsage);
        },
        [&](const EchoRequest& request, size_t piece) {
          if (piece == 0)
            if (const int64_t i = index_of(request); i >= 0) shared.written_s[i] = clock.now_s();
        });
    shared.port = server.port();
    while (!shared.is_over) ::usleep(10000);
  }
  std::_Exit(0);
}

double cpu_s() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// Prints and returns median, 99th percentile and maximum.
Json quantiles_ms(const char* what, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const double p50 = 1e3 * results::quantile(seconds, 0.5);
  const double p99 = 1e3 * results::quantile(seconds, 0.99), most = 1e3 * seconds.back();
  std::printf("%-44s p50 %7.3f  p99 %7.3f  max %7.3f ms\n", what, p50, p99, most);
  return {{"p50", p50}, {"p99", p99}, {"max", most}};
}

Json measure(Shared& shared, int64_t streams, int64_t tokens, bool is_closed) {
  serving::EvenSource source;
  source.output = tokens;
  source.count = is_closed ? 4 * streams : 200;
  workloads::ArrivalSchedule schedule;
  if (is_closed) schedule.most_in_flight = streams;
  for (int64_t i = 0; i < source.count; ++i)
    schedule.intended_s.push_back(is_closed ? 0.0 : 0.02 * static_cast<double>(i + 1));
  const LoadOptions options{.place = {.url = "http://127.0.0.1:" + std::to_string(shared.port)}};
  const serving::SteadyClock clock;
  const auto target = make_server_target(options, {.model = "echo"}, clock);
  const double begin_cpu_s = cpu_s();
  const serving::RunResult result = serving::run(
      *target, source, schedule, {.rules = {.least_duration_s = 0, .least_requests = 1}}, clock);
  const double used_s = cpu_s() - begin_cpu_s, lasted_s = serving::duration_s(result.log);
  const auto all = static_cast<double>(source.count * tokens);
  std::printf("%s: %lld requests of %lld tokens, %s\n", is_closed ? "closed loop" : "open loop",
              static_cast<long long>(source.count), static_cast<long long>(tokens),
              result.verdict.is_valid() ? "all served" : result.verdict.reasons.front().c_str());
  std::printf("%-44s %.0f tokens/s, %.0f tokens per second of processor time\n", "throughput",
              all / lasted_s, all / used_s);
  std::vector<double> stamp, late;
  for (const serving::RequestEntry& entry : result.log.requests) {
    if (entry.token_s.empty()) continue;
    const auto i = static_cast<size_t>(entry.index);
    // The time from sending to the first token, minus the server's time from arrival to writing
    // that token.
    stamp.push_back(entry.token_s.front() - entry.sent_s -
                    (shared.written_s[i] - shared.came_s[i]));
    late.push_back(entry.sent_s - entry.intended_s);
  }
  return {{"requests", source.count},
          {"tokens", tokens},
          {"tokens_per_s", all / lasted_s},
          {"tokens_per_cpu_s", all / used_s},
          {"ttft_error_ms", quantiles_ms("TTFT, more than the server's own", stamp)},
          {"late_ms", quantiles_ms("sent after its time", late)}};
}

}  // namespace

int run_bench(int argc, char** argv) {
  const int64_t streams = argc > 1 ? std::atoll(argv[1]) : 64;
  const int64_t tokens = argc > 2 ? std::atoll(argv[2]) : 256;
  const double gap_s = (argc > 3 ? std::atof(argv[3]) : 5.0) / 1e3;
  REPRISE_CHECK(streams > 0 && 4 * streams <= kMostRequests && tokens > 0 && gap_s >= 0);
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REPRISE_CHECK(memory != MAP_FAILED);
  Shared& shared = *new (memory) Shared;
  const pid_t child = ::fork();
  if (child == 0) serve(shared, gap_s);
  while (shared.port == 0) ::usleep(1000);
  Json report{{"provenance", json_of(written_fields(results::provenance()))},
              {"streams", streams},
              {"gap_ms", 1e3 * gap_s}};
  report["closed_loop"] = measure(shared, streams, tokens, /*is_closed=*/true);
  report["open_loop"] = measure(shared, streams, 16, /*is_closed=*/false);
  shared.is_over = true;
  ::waitpid(child, nullptr, 0);
  if (argc > 4) {
    AtomicFile file(argv[4]);
    file.write(report.dump(1) + "\n");
    file.commit();
  }
  return 0;
}

}  // namespace reprise::server

int main(int argc, char** argv) { return reprise::server::run_bench(argc, argv); }
