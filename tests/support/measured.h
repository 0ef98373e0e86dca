// Measurements as the JSON that records hold, for tests that look up values by name.
#pragma once

#include <atomic>
#include <vector>

#include "core/base/fields.h"
#include "experiments/framework/kind.h"
#include "tests/support/json.h"

namespace reprise::experiments {

struct Measured {
  Json samples, metrics, resolved, answers, memory, core_use;
};

inline Measured measured_json(const Measurement& of) {
  const auto json = [](const auto& part) { return json_of(FieldWriter::written(part)); };
  Measured measured{.samples = json(of.samples),
                    .metrics = json(of.metrics),
                    .resolved = json_of(of.resolved),
                    .answers = json_of(of.answers),
                    .memory = json(of.memory),
                    .core_use = Json::object()};
  if (of.core_use) measured.core_use = json_of(written_fields(*of.core_use));
  return measured;
}

inline std::vector<Measured> measured_json(const std::vector<Measurement>& all) {
  std::vector<Measured> measured;
  for (const Measurement& one : all) measured.push_back(measured_json(one));
  return measured;
}

// A machine of JSON facts, as machine.json holds them.
inline Machine machine_of_json(const Json& facts) {
  return read_fields<Machine>(facts.is_null() ? Value(Fields()) : value_of(facts), "machine");
}

}  // namespace reprise::experiments
