// The requests that an experiment sends to any server: made by the kind that reads the experiment,
// and used by that kind for our engine and by `reprise load` for other servers.
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
  // Warm-up, rules and queue growth. Bounds of reuse and the announcing of prefixes depend on the
  // server and are set by its user.
  RunOptions options;
  // The model's tokenizer, for servers that take only text; null if there is none.
  std::shared_ptr<const Tokenizer> tokenizer;
};

// Implemented beside Kind by a kind whose groups are served.
class PlansServing {
 public:
  virtual ~PlansServing() = default;
  // The plan of a group that passed check().
  [[nodiscard]] virtual ServingPlan plan(const Group& group) = 0;
};

}  // namespace reprise::experiments::serving
