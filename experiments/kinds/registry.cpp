#include "experiments/kinds/registry.h"

#include "core/base/error.h"
#include "experiments/kinds/accuracy/accuracy.h"
#include "experiments/kinds/accuracy/exactness.h"
#include "experiments/kinds/attention/attention_kind.h"
#include "experiments/kinds/counts/request_lengths.h"
#include "experiments/kinds/counts/token_memory.h"
#include "experiments/kinds/latency/decode.h"
#include "experiments/kinds/latency/pml_kind.h"
#include "experiments/kinds/latency/state_copy.h"
#include "experiments/kinds/latency/ttft.h"
#include "experiments/kinds/sentences/attention_maps.h"
#include "experiments/kinds/sentences/prefill.h"
#include "experiments/kinds/sentences/sentences.h"
#include "experiments/kinds/serving/serving.h"
#include "methods/registry.h"

namespace reprise::experiments {
namespace {

struct Entry {
  KindInfo (*info)();
  std::unique_ptr<Kind> (*make)(const Context& context);
};

template <typename T>
constexpr Entry kind() {
  return {.info = &T::info, .make = [](const Context& context) -> std::unique_ptr<Kind> {
            return std::make_unique<T>(context);
          }};
}

// The single list of kinds.
constexpr Entry kKinds[] = {
    kind<TtftKind>(),          kind<DecodeKind>(),
    kind<ExactnessKind>(),     kind<AttentionKind>(),
    kind<AccuracyKind>(),      kind<TokenMemoryKind>(),
    kind<PmlKind>(),           kind<StateCopyKind>(),
    kind<ServingKind>(),       kind<RequestLengthsKind>(),
    kind<SentencesKind>(),     kind<PrefillKind>(),
    kind<AttentionMapsKind>(),
};

}  // namespace

const std::vector<KindInfo>& known_kinds() {
  static const std::vector<KindInfo> infos = [] {
    std::vector<KindInfo> all;
    for (const Entry& entry : kKinds) all.push_back(entry.info());
    return all;
  }();
  return infos;
}

Vocabulary known_vocabulary() {
  Vocabulary vocabulary{
      .kinds = known_kinds(), .methods = {}, .workloads = workloads::known_workloads()};
  for (const reuse::MethodInfo& info : methods::known_methods())
    vocabulary.methods.push_back({info.name, [name = info.name](const JsonObject& given) {
                                    return methods::resolve_options(name, given);
                                  }});
  return vocabulary;
}

std::unique_ptr<Kind> make_kind(const std::string& name, const Context& context) {
  for (const Entry& entry : kKinds)
    if (entry.info().name == name) return entry.make(context);
  REPRISE_CHECK(false, "there is no kind {}", name);
  return nullptr;
}

}  // namespace reprise::experiments
