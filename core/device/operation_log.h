// When each operation of the kernels ran, for a trace of a run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/steady_now.h"
#include "core/device/context.h"

namespace reprise {

struct OperationTime {
  const char* name;          // a literal
  int64_t begin_ns, end_ns;  // of steady_now_ns()
};

// Keeps the first `most` operations since the last clear(). Any thread may add.
class OperationLog {
 public:
  // Holds 24 bytes for each of `most` operations.
  explicit OperationLog(size_t most) : times_(most) {}

  void add(const char* name, int64_t begin_ns, int64_t end_ns) {
    const size_t number = added_++;
    if (number < times_.size()) times_[number] = {name, begin_ns, end_ns};
  }
  // The operations in the order in which they ended. Call times() and clear() only while no
  // operation runs.
  [[nodiscard]] std::span<const OperationTime> times() const {
    return std::span(times_).first(std::min<size_t>(added_, times_.size()));
  }
  void clear() { added_ = 0; }

 private:
  std::vector<OperationTime> times_;
  std::atomic<size_t> added_ = 0;
};

// Adds an operation, from the construction to the destruction of this object, to the context's log
// if it has one. On a device other than the CPU, the logged time is only that of the operation's
// launch.
class OperationSpan {
 public:
  OperationSpan(const Context& context, const char* name)
      : log_(context.operations), name_(name), begin_ns_(log_ == nullptr ? 0 : steady_now_ns()) {}
  ~OperationSpan() {
    if (log_ != nullptr) log_->add(name_, begin_ns_, steady_now_ns());
  }
  OperationSpan(const OperationSpan&) = delete;
  OperationSpan& operator=(const OperationSpan&) = delete;

 private:
  OperationLog* log_;
  const char* name_;
  int64_t begin_ns_;
};

}  // namespace reprise
