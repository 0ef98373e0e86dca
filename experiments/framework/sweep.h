// From an experiment to its points: every combination once, in an order that loads each model once,
// with ids that do not change from run to run.
#pragma once

#include <string>
#include <vector>

#include "core/device/context.h"
#include "core/device/device.h"
#include "experiments/framework/experiment_file.h"
#include "experiments/framework/kind.h"
#include "results/manifest.h"

namespace reprise::experiments {

// Where the points run; part of every point's settings.
struct RunSettings {
  Context context;
  Device device = Device::kCpu;
};

// Models outermost, then dtypes, then the kind's axes in their order; methods are a group's points.
// Throws Error above kMostPoints.
inline constexpr int64_t kMostPoints = results::kMostPlannedPoints;
std::vector<Group> expand(const Experiment& experiment, const RunSettings& settings);

// What is measured, as the manifest of a results folder keeps it: {config_hash, settings,
// experiment, points}. The hash covers the settings, with the metrics on request that are taken:
// not title, note, the other metrics shown and figures drawn.
Json manifest(const Experiment& experiment, const RunSettings& settings,
              const std::vector<Group>& groups);

}  // namespace reprise::experiments
