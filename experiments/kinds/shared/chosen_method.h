// Makes the methods that an experiment chooses.
#pragma once

#include <memory>

#include "experiments/framework/kind.h"
#include "methods/method.h"

namespace reprise::experiments {

// The method with its options. Throws Error as methods::make_method().
[[nodiscard]] std::unique_ptr<methods::Method> make_method(const MethodChoice& choice);
// The cache of a method that is nothing else. Throws Error as methods::make_cache().
[[nodiscard]] std::unique_ptr<reuse::SequenceCache> make_cache(const MethodChoice& choice);

}  // namespace reprise::experiments
