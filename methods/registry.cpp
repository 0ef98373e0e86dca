#include "methods/registry.h"

#include <concepts>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "methods/auto/auto.h"
#include "methods/chunk_attention/chunk_attention.h"
#include "methods/contiguous/contiguous.h"
#include "methods/paged/paged.h"
#include "methods/paged_shared/paged_shared.h"
#include "methods/recompute/recompute.h"
#include "methods/relay_attention/relay_attention.h"

namespace reprise::methods {
namespace {

using reuse::MethodResources;
using reuse::ReuseMethod;

struct Entry {
  std::unique_ptr<ReuseMethod> (*make)(const JsonObject& given, const MethodResources& resources);
  reuse::OptionList (*list_options)();
  Json (*resolve_options)(const JsonObject& given);
};

// A method is made from its options and the resources, or from what it takes of them.
template <typename Method, reuse::Options Options>
std::unique_ptr<ReuseMethod> make(const JsonObject& given, const MethodResources& resources) {
  const auto options = reuse::read_options<Options>(given);
  if constexpr (std::constructible_from<Method, const Options&, const MethodResources&>)
    return std::make_unique<Method>(options, resources);
  else if constexpr (std::constructible_from<Method, const Options&>)
    return std::make_unique<Method>(options);
  else
    return std::make_unique<Method>();
}

template <typename Method, reuse::Options Options = reuse::NoOptions>
constexpr Entry method() {
  return {.make = make<Method, Options>,
          .list_options = reuse::list_options<Options>,
          .resolve_options = [](const JsonObject& given) {
            return reuse::options_json(reuse::read_options<Options>(given));
          }};
}

// The single list of methods.
constexpr Entry kMethods[] = {
    method<Recompute>(),
    method<Contiguous>(),
    method<Paged, reuse::PagedOptions>(),
    method<PagedShared, PagedSharedOptions>(),
    method<ChunkAttention, ChunkAttentionOptions>(),
    method<RelayAttention, RelayAttentionOptions>(),
    method<Auto, reuse::TreeOptions>(),
};

reuse::MethodInfo info_of(const Entry& entry) {
  const Json none = Json::object();
  return entry.make(JsonObject(none, "defaults"), {})->info();
}

const Entry& entry_of(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : kMethods) {
    names.push_back(info_of(entry).name);
    if (names.back() == name) return entry;
  }
  raise("{}", unknown_name("method", name, names));
}

}  // namespace

std::vector<reuse::MethodInfo> known_methods() {
  std::vector<reuse::MethodInfo> infos;
  for (const Entry& entry : kMethods) infos.push_back(info_of(entry));
  return infos;
}

reuse::OptionList options_of(const std::string& name) { return entry_of(name).list_options(); }

Json resolve_options(const std::string& name, const JsonObject& given) {
  return entry_of(name).resolve_options(given);
}

std::unique_ptr<ReuseMethod> make_method(const std::string& name, const Json& options,
                                         const MethodResources& resources) {
  const Entry& entry = entry_of(name);
  const Json given = options.is_null() ? Json::object() : options;
  return entry.make(JsonObject(given, "options of method \"" + name + "\""), resources);
}

}  // namespace reprise::methods
