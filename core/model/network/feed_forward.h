// Two matrices with an activation between them: a dense MLP or one expert.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/model/network/network.h"

namespace reprise::model {

class FeedForward {
 public:
  explicit FeedForward(Network& network) : network_(network) {}

  // Allocates buffers for calls with `rows` rows and `width` intermediate values per row.
  void prepare(int64_t rows, int64_t width);
  // Sets out [rows, hidden] to down(act(gate(x)) * up(x)) or down(act(up(x))), as the config says.
  // With `accumulate`, adds the result to out instead. x is [rows, hidden] in the network's dtype;
  // `down` has `width` inputs. prepare() must have been called with at least these sizes.
  void run(const LoadedPart& up, const LoadedPart& down, const void* x, int64_t rows, float* out,
           bool accumulate);
  void append_key(WorkKey& key) const {
    append_address(key, up_.data());
    append_address(key, activated_.data());
  }

 private:
  Network& network_;
  Buffer up_;         // [rows, width], or [rows, 2 * width] if gated
  Buffer activated_;  // [rows, width]
};

}  // namespace reprise::model
