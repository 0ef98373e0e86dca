// Writes the steps and requests of a server as trace events, which Perfetto shows.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/kinds/serving/engine_target.h"
#include "experiments/serving/trace_writer.h"
#include "server/service.h"

namespace reprise::app {

// Keeps at most 2^20 steps, at most 2^20 requests, and the first operations of kernels in memory,
// and writes them in finish(), when the server has ended.
class ServeTrace final : public server::ServiceObserver {
 public:
  // Throws Error naming the path if the file cannot be created. Times of the trace count from this
  // call.
  explicit ServeTrace(const std::string& path);

  void step(const engine::StepReport& report) override;
  void ended(const std::string& outcome, const engine::TokenEvent& last, int64_t prompt_tokens,
             int64_t generated_tokens) override;
  // The log in which the engine's kernels record their operations.
  [[nodiscard]] OperationLog& operations() { return operations_; }
  // Writes the file; `name` names the process in the trace. Prints a note if steps or requests were
  // left out. Throws Error with the system's reason, such as a full disk.
  void finish(const std::string& name);

 private:
  experiments::serving::TraceWriter writer_;
  int64_t begin_ns_;
  experiments::serving::RequestLog log_;
  OperationLog operations_{experiments::kMostTracedOperations};
  int64_t left_out_ = 0;  // number of steps and requests that were not kept
};

}  // namespace reprise::app
