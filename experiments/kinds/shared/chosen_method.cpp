#include "experiments/kinds/shared/chosen_method.h"

#include <nlohmann/json.hpp>

#include "core/base/value_json.h"
#include "methods/registry.h"

namespace reprise::experiments {

std::unique_ptr<methods::Method> make_method(const MethodChoice& choice) {
  return methods::make_method(choice.name, json_of(choice.options));
}

std::unique_ptr<reuse::SequenceCache> make_cache(const MethodChoice& choice) {
  return methods::make_cache(choice.name, json_of(choice.options));
}

}  // namespace reprise::experiments
