// The options of commands that compute: --threads, --isa and --device; and --fresh-calibration, for
// commands that run a model.
#pragma once

#include <memory>
#include <string>

#include "core/base/dtype.h"
#include "core/device/context.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own name
class App;
}

namespace reprise::app {

struct CommonOptions {
  int threads = 0;  // 0: all cores this process may run on
  std::string isa;  // "": the best one that this processor has
  std::string device = "cpu";
  bool fresh_calibration = false;
};

std::shared_ptr<CommonOptions> add_common_options(CLI::App& command);
// Adds --fresh-calibration to add_common_options(), for commands that use the kept calibration.
std::shared_ptr<CommonOptions> add_computing_options(CLI::App& command);

// Throws Error for an instruction set that the processor lacks, a device that this build or machine
// lacks, and a number of threads that is out of range.
Context make_context(const CommonOptions& options);

}  // namespace reprise::app
