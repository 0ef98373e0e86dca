// Replaces metrics.cpp in builds without prometheus-cpp. Counts nothing.
#include "server/metrics.h"

namespace reprise::server {

struct Metrics::Families {};

std::string Metrics::absence() {
  return "this server was built without prometheus-cpp, which counts what /metrics tells: install "
         "it (prometheus-cpp-dev), then configure and build again";
}

Metrics::Metrics() = default;
Metrics::~Metrics() = default;
void Metrics::step(const engine::StepReport& /*report*/) {}
void Metrics::standing(int64_t /*waiting*/, int64_t /*running*/, int64_t /*used_bytes*/,
                       int64_t /*total_bytes*/) {}
void Metrics::request(const std::string& /*outcome*/, const engine::TokenEvent& /*last*/,
                      int64_t /*prompt_tokens*/, int64_t /*generated_tokens*/) {}
void Metrics::answer(int /*status*/) {}
void Metrics::connections(int64_t /*open*/) {}
std::string Metrics::text() const { return ""; }

}  // namespace reprise::server
