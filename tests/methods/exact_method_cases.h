// Cases for tests that run over all exact methods.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/json.h"
#include "tests/support/run_model.h"
#include "tests/support/run_requests.h"

namespace reprise::testing {

// Every exact method with its defaults, and with options that change its plans.
inline std::vector<MethodUnderTest> exact_method_cases() {
  std::vector<MethodUnderTest> all;
  for (const std::string& name : exact_methods()) all.push_back({name});
  const std::vector<std::pair<const char*, const char*>> variants = {
      {"paged", R"({"block_tokens": 8})"},
      {"paged", R"({"version": 2, "block_tokens": 8, "partition_tokens": 16})"},
      {"paged_shared", R"({"block_tokens": 8, "reuse_prefill": true})"},
      {"paged_shared", R"({"version": 2, "block_tokens": 16, "partition_tokens": 32})"},
      {"chunk_attention", R"({"chunk_tokens": 16})"},
      {"chunk_attention", R"({"chunk_tokens": 16, "share_threshold": 2})"},
      {"chunk_attention", R"({"chunk_tokens": 16, "reuse_prefill": true})"},
      {"chunk_attention", R"({"chunk_tokens": 16, "reuse_prefill": true, "retain": true})"},
      {"chunk_attention", R"({"chunk_tokens": 16, "preset": "as_published"})"},
      {"chunk_attention", R"({"chunk_tokens": 16, "preset": "as_coded"})"},
      {"chunk_attention",
       R"({"chunk_tokens": 16, "preset": "as_coded", "direct_reduction": true})"},
      {"auto", R"({"chunk_tokens": 16, "reuse_prefill": true})"},
      {"auto", R"({"chunk_tokens": 48, "reuse_prefill": true, "retain": true})"},
      {"relay_attention", R"({"block_tokens": 8})"},
      {"relay_attention", R"({"preset": "as_coded", "prefix_buffer_tokens": 128})"}};
  for (const auto& [name, options] : variants) all.push_back({name, Json::parse(options)});
  return all;
}

inline bool takes_several_prefixes(const MethodUnderTest& method) {
  return method.options.value("preset", "") != "as_coded";
}

}  // namespace reprise::testing
