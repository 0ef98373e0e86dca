// Apart from the list of kinds, so that reading experiment files needs no engine.
#include "core/base/error.h"
#include "experiments/framework/kinds.h"
#include "experiments/kinds/attention_kind.h"
#include "experiments/kinds/decode.h"
#include "experiments/kinds/exactness.h"
#include "experiments/kinds/ttft.h"
#include "methods/registry.h"

namespace reprise::experiments {

Vocabulary known_vocabulary() {
  Vocabulary vocabulary{
      .kinds = known_kinds(), .methods = {}, .workloads = workloads::known_workloads()};
  for (const reuse::MethodInfo& info : methods::known_methods())
    vocabulary.methods.push_back(info.name);
  return vocabulary;
}

std::unique_ptr<Kind> make_kind(const std::string& name, const Context& context) {
  if (name == "ttft") return std::make_unique<TtftKind>(context);
  if (name == "attention") return std::make_unique<AttentionKind>(context);
  if (name == "decode") return std::make_unique<DecodeKind>(context);
  if (name == "exactness") return std::make_unique<ExactnessKind>(context);
  REPRISE_CHECK(false, "kind {} is listed, but nobody makes it", name);
  return nullptr;
}

}  // namespace reprise::experiments
