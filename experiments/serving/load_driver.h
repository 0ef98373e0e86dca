// Sends requests when they are due and logs the answers: the inner loop of a run.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "experiments/serving/clock.h"
#include "experiments/serving/queue_growth.h"
#include "experiments/serving/request_log.h"
#include "experiments/serving/target.h"
#include "experiments/serving/width_stop.h"
#include "workloads/arrivals.h"

namespace reprise::experiments::serving {

struct DriveOptions {
  GrowthRule growth;
  double most_drain_s = std::numeric_limits<double>::infinity();
  const std::atomic<bool>* stop = nullptr;
  bool keeps_gaps = true;  // see RunOptions
  WidthRule width;
};

struct DriveResult {
  RequestLog log;  // log of the requests that were sent
  // Sessions have earlier answers inside their prompts. own_answers: how many were replaced by the
  // server's own answer. invented_answers: how many stayed as the source has them, because the
  // server did not report the tokens of its answer, or reported those of another tokenizer, had
  // failed, or was asked for fewer tokens.
  int64_t own_answers = 0, invented_answers = 0;
  std::string stop_reason;             // reason why the run was given up; "": it ran to its end
  std::vector<WidthStop::Look> looks;  // looks of the width rule
};

// Sends requests 0, 1, ..., schedule.intended_s.size() - 1 as run() describes, or fewer if the
// width rule is met before. Calls `draw` for each request before the request is due, so that
// drawing does not make it late. In sessions the answers within a drawn prompt are then replaced by
// the server's own answers. Time 0 of the log is the moment when the first request has been drawn.
// When `stop` is set, cancels all running requests and throws Interrupted.
[[nodiscard]] DriveResult drive(Target& target,
                                const std::function<workloads::ServingRequest(int64_t)>& draw,
                                const workloads::ArrivalSchedule& schedule,
                                const DriveOptions& options, const Clock& clock);

}  // namespace reprise::experiments::serving
