// A command that ends with a status of its own, after it has said everything itself.
#pragma once

namespace reprise::app {

struct ExitStatus {
  int status = 0;
};

}  // namespace reprise::app
