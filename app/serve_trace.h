// Writes the steps and requests of a server as trace events, which Perfetto shows.
#pragma once

#include <cstdint>
#include <string>

#include "experiments/kinds/serving/engine_target.h"
#include "experiments/serving/trace_writer.h"
#include "server/service.h"

namespace reprise::app {

// Keeps steps and requests in memory, at most 2^20 of each, and the first operations of kernels,
// and writes them when the server has ended.
class ServeTrace final : public server::ServiceObserver {
 public:
  // Throws Error naming the path if the file cannot be created. Times count from now on.
  explicit ServeTrace(const std::string& path);

  void step(const engine::StepReport& report) override;
  void ended(const std::string& outcome, const engine::TokenEvent& last, int64_t prompt_tokens,
             int64_t generated_tokens) override;
  // The log in which the engine's kernels record their operations.
  [[nodiscard]] OperationLog& operations() { return operations_; }
  // Writes the file; `name` names the process in the trace. Prints a note if something was left
  // out. Throws Error with the system's reason, such as a full disk.
  void finish(const std::string& name);

 private:
  experiments::serving::TraceWriter writer_;
  int64_t begin_ns_;
  experiments::serving::RequestLog log_;
  OperationLog operations_{experiments::kMostTracedOperations};
  int64_t left_out_ = 0;  // steps and requests beyond what is kept
};

}  // namespace reprise::app
