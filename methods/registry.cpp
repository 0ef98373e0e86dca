#include "methods/registry.h"

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

using Maker = std::unique_ptr<reuse::ReuseMethod> (*)(JsonObject& options);

// The single list of methods.
constexpr Maker kMakers[] = {
    [](JsonObject&) -> std::unique_ptr<reuse::ReuseMethod> {
      return std::make_unique<Recompute>();
    },
    [](JsonObject&) -> std::unique_ptr<reuse::ReuseMethod> {
      return std::make_unique<Contiguous>();
    },
    [](JsonObject& options) -> std::unique_ptr<reuse::ReuseMethod> {
      return std::make_unique<Paged>(reuse::read_paged_options(options));
    },
    [](JsonObject& options) -> std::unique_ptr<reuse::ReuseMethod> {
      return std::make_unique<PagedShared>(read_paged_shared_options(options));
    },
    [](JsonObject& options) -> std::unique_ptr<reuse::ReuseMethod> {
      return std::make_unique<ChunkAttention>(read_chunk_attention_options(options));
    },
    [](JsonObject& options) -> std::unique_ptr<reuse::ReuseMethod> {
      return std::make_unique<RelayAttention>(read_relay_attention_options(options));
    },
    [](JsonObject& options) -> std::unique_ptr<reuse::ReuseMethod> {
      return std::make_unique<Auto>(reuse::read_tree_options(options, {}));
    },
};

}  // namespace

std::vector<reuse::MethodInfo> known_methods() {
  std::vector<reuse::MethodInfo> infos;
  const Json none = Json::object();
  for (const Maker make : kMakers) {
    JsonObject options(none, "defaults");
    infos.push_back(make(options)->info());
  }
  return infos;
}

std::unique_ptr<reuse::ReuseMethod> make_method(const std::string& name, const Json& options) {
  const Json given = options.is_null() ? Json::object() : options;
  std::vector<std::string> names;
  for (const Maker make : kMakers) {
    const Json none = Json::object();
    JsonObject defaults(none, "defaults");
    names.push_back(make(defaults)->info().name);
    if (names.back() != name) continue;
    JsonObject reader(given, "options of method \"" + name + "\"");
    auto method = make(reader);
    reader.reject_unknown();
    return method;
  }
  raise("{}", unknown_name("method", name, names));
}

}  // namespace reprise::methods
