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

// The reason why a method cannot run in kinds with this use; "" if it can.
std::string refusal(const methods::MethodInfo& info, MethodUse use) {
  switch (use) {
    case MethodUse::kPlans:
      return info.is_cache ? "" : "it is more than a cache, and has no plans without a model";
    case MethodUse::kGeneration:
      return info.cannot_generate;
    case MethodUse::kPrefill:
      return info.cannot_prefill;
    case MethodUse::kMarkup:
      return info.reads_markup ? "" : "it reads no prompts that import modules of a schema";
  }
  return "";
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
  for (const methods::MethodEntry& entry : methods::known_methods())
    vocabulary.methods.push_back(
        {.name = entry.info.name,
         .refusal = [&info = entry.info](MethodUse use) { return refusal(info, use); },
         .resolve_options = entry.resolve_options});
  return vocabulary;
}

std::vector<MethodCell> method_matrix() {
  std::vector<MethodCell> cells;
  for (const methods::MethodEntry& entry : methods::known_methods()) {
    for (const KindInfo& kind : known_kinds())
      if (kind.method_use)
        cells.push_back({entry.info.name, kind.name, refusal(entry.info, *kind.method_use)});
    for (const char* command : {"generate", "serve", "logits", "bench"})
      cells.push_back({entry.info.name, command, refusal(entry.info, MethodUse::kGeneration)});
    cells.push_back({entry.info.name, "embed", refusal(entry.info, MethodUse::kPrefill)});
    // `pml run` itself imports modules. Its method computes what is not imported.
    std::string of_pml_run = refusal(entry.info, MethodUse::kGeneration);
    if (of_pml_run.empty() && !entry.info.is_cache)
      of_pml_run = "it is no cache, and pml run needs one for what is not imported";
    cells.push_back({entry.info.name, "pml run", std::move(of_pml_run)});
  }
  return cells;
}

Fields method_looks() {
  Fields looks;
  const auto add = [&](const std::string& name, const Look& look) {
    if (!look.color.empty()) looks[name] = Values{look.color, look.marker};
  };
  for (const methods::MethodEntry& entry : methods::known_methods())
    add(entry.info.name, entry.info.look);
  for (const KindInfo& kind : known_kinds())
    for (const Series& series : kind.series) add(series.name, series.look);
  return looks;
}

std::unique_ptr<Kind> make_kind(const std::string& name, const Context& context) {
  for (const Entry& entry : kKinds)
    if (entry.info().name == name) return entry.make(context);
  REPRISE_CHECK(false, "there is no kind {}", name);
  return nullptr;
}

}  // namespace reprise::experiments
