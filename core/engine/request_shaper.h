// Changes requests on their way into an engine.
#pragma once

#include "core/engine/request.h"

namespace reprise::engine {

// Removes tokens from a request's prompt if their KV states are imported, or pads the prompt, or
// leaves it unchanged. Sets Request::least_length if imported tokens may lie behind the remaining
// ones. Called from the thread that submits requests and runs steps, never during a step.
class RequestShaper {
 public:
  virtual ~RequestShaper() = default;
  // Called by Engine::submit() before the request is checked. Throws Error if the request cannot be
  // served; the shaper then keeps nothing for it.
  virtual void shape(Request& request) = 0;
  // Called once for each request that shape() accepted, when that request has ended or was refused.
  // Its id may then be used again.
  virtual void done(RequestId /*id*/) {}
  // True if the states of declared prefixes are imported. A request that begins with a declared
  // prefix then computes at most the prefix's last token.
  [[nodiscard]] virtual bool imports_prefixes() const { return false; }
};

}  // namespace reprise::engine
