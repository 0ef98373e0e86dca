// Two matrices with an activation between them: a dense MLP, or one expert of many.
#pragma once

#include <cstdint>

#include "core/device/buffer.h"
#include "core/model/network/network.h"

namespace reprise::model {

class FeedForward {
 public:
  explicit FeedForward(Network& network) : network_(network) {}

  // Makes room for calls of `rows` rows and `width` intermediate values each.
  void prepare(int64_t rows, int64_t width);
  // out [rows, hidden] f32 = down(act(gate(x)) * up(x)), or down(act(up(x))), by the config; added
  // to it with `accumulate`. x [rows, hidden] in the network's dtype; `down` has `width` inputs.
  // prepare() must have seen as much.
  void run(const LoadedPart& up, const LoadedPart& down, const void* x, int64_t rows, float* out,
           bool accumulate);
  void append_key(WorkKey& key) const {
    append_address(key, up_.data());
    append_address(key, activated_.data());
  }

 private:
  Network& network_;
  Buffer up_;         // [rows, width, twice if gated]
  Buffer activated_;  // [rows, width]
};

}  // namespace reprise::model
