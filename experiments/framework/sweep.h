// Expands an experiment into its points: every combination of its values once, in an order in which
// each model is loaded once, with ids that are the same in every run.
#pragma once

#include <string>
#include <vector>

#include "core/device/context.h"
#include "core/device/device.h"
#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"
#include "results/manifest.h"

namespace reprise::experiments {

// The threads, instruction set and device that the points run on; part of every point's settings.
struct RunSettings {
  Context context;
  Device device = Device::kCpu;
};

inline constexpr int64_t kMostPoints = results::kMostPlannedPoints;
// Returns the groups. The loops over values are nested: models outermost, then dtypes, cases, and
// the kind's axes in their order. Methods are the points of a group. Throws Error for more than
// kMostPoints points.
std::vector<Group> expand(const Experiment& experiment, const RunSettings& settings);

// Returns the manifest of a results folder without the identity (see results/manifest.h). Its hash
// covers the settings and those measured metrics that have is_on_request. It does not cover the
// title, the note, other metrics or the figures.
results::Manifest manifest(const Experiment& experiment, const RunSettings& settings,
                           const std::vector<Group>& groups);

// The points of an experiment and the manifest of the folder that will hold their records.
struct Plan {
  std::vector<Group> groups;
  results::Manifest manifest;  // without the identity
};
[[nodiscard]] Plan plan(const Experiment& experiment, const RunSettings& settings);

}  // namespace reprise::experiments
