// What an experiment asks of whoever serves it: made by the kind that reads the experiment, used by
// that kind for our engine and by `reprise load` for any other server.
#pragma once

#include <memory>

#include "core/tokenizer/tokenizer.h"
#include "experiments/framework/kind.h"
#include "experiments/serving/run.h"
#include "workloads/arrivals.h"
#include "workloads/serving/request_source.h"

namespace reprise::experiments::serving {

struct ServingPlan {
  std::shared_ptr<const workloads::RequestSource> source;
  workloads::ArrivalSchedule schedule;  // a time for each request of the source
  // Warm-up, rules, queue growth. Bounds of reuse and whether prefixes are announced depend on who
  // serves, and are left to it.
  RunOptions options;
  // Of the model, for servers that take text alone; null where it has none.
  std::shared_ptr<const Tokenizer> tokenizer;
};

// A kind whose groups are served implements this beside Kind.
class PlansServing {
 public:
  virtual ~PlansServing() = default;
  // Of a group that its check() lets pass.
  [[nodiscard]] virtual ServingPlan plan(const Group& group) = 0;
};

}  // namespace reprise::experiments::serving
