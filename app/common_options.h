// The options of commands that compute: --device, --threads, --isa and --fresh-calibration.
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
  std::string isa;  // "": the best instruction set of this processor
  std::string device = "cpu";
  bool fresh_calibration = false;
};

// Adds --device alone, for commands whose computing other programs do with settings of their own.
std::shared_ptr<CommonOptions> add_device_option(CLI::App& command);
// Adds all of them, for commands that run models and use the kept calibration (kept_calibration.h).
std::shared_ptr<CommonOptions> add_computing_options(CLI::App& command);

// Makes the context that the options describe. Throws Error for an instruction set that the
// processor lacks, for a device that this build or machine lacks, and for a number of threads that
// is out of range.
Context make_context(const CommonOptions& options);

}  // namespace reprise::app
