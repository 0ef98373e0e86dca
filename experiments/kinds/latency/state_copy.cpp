#include "experiments/kinds/latency/state_copy.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/problems.h"
#include "experiments/framework/shared_info.h"
#include "experiments/framework/undisturbed.h"
#include "experiments/kinds/latency/state_routes.h"
#include "experiments/kinds/shared/bench.h"
#include "experiments/kinds/shared/costs.h"

namespace reprise::experiments {
namespace {

const MetricInfo kLayerMs = {"layer_ms", "ms",
                             "keys and values of one layer: the time of all layers over their "
                             "number",
                             /*has_percentiles=*/true};
const MetricInfo kLayerMb = {"layer_mb", "MB", "keys and values of one layer"};
const MetricInfo kCopiedGbS = {"copied_gb_s", "GB/s", "keys and values over the time"};
const MetricInfo kMemoryLimitRatio = {"memory_limit_ratio", "ratio",
                                      "twice that, since what is copied is read and written, over "
                                      "the measured read rate of the memory "
                                      "that it stays in"};

struct StateCopyAxes {
  int64_t tokens = 5000;
  int64_t layers = 0;  // 0: all
  int64_t modules = 4;

  void visit(AxisVisitor& visitor) {
    visitor.integer({"tokens", "tokens", "whose keys and values are copied"}, {1, kMostTokens},
                    tokens);
    visitor.integer({"layers", "layers", "the first of the model's that are copied; 0: all"},
                    {0, 1024}, layers);
    visitor.integer({"modules", "modules", "that route gather copies from, of equal length"},
                    {1, 1 << 16}, modules);
  }
};

kv::SegmentShape shape_of(const Group& group) {
  const auto axes = group.axes_as<StateCopyAxes>();
  const model::ModelConfig config = Bench::config(group);
  return {.layers = axes.layers == 0 ? config.layers : axes.layers,
          .kv_heads = config.kv_heads,
          .tokens = axes.tokens,
          .head_dim = config.head_dim,
          .dtype = group.kv_dtype};
}

std::vector<std::string> routes_of(const Group& group) {
  std::vector<std::string> routes;
  for (const MethodChoice& method : group.methods) routes.push_back(method.name);
  return routes;
}

bool has_route(const Group& group, const std::string& route) {
  const std::vector<std::string> routes = routes_of(group);
  return std::find(routes.begin(), routes.end(), route) != routes.end();
}

// Number of copies of the states in host memory: the source, the target, the gathered copy, and the
// file in the page cache.
int copies_on_host(const Group& group) {
  const bool has_target = has_route(group, kHostToHost) || has_route(group, kMappedFile);
  return 1 + (has_target ? 1 : 0) + (has_route(group, kGather) ? 1 : 0) +
         (has_route(group, kMappedFile) ? 1 : 0);
}

// Number of copies of the states in the device's memory: the source of copies within it, and the
// target.
int copies_on_device(const Group& group) {
  const bool has_source = has_route(group, kDeviceToDevice);
  return (has_source ? 1 : 0) + (has_source || has_route(group, kHostToDevice) ? 1 : 0);
}

struct Samples {
  std::vector<double> layer_ms;
  Undisturbed taking;
};

// The rate of the memory within which the route copies; 0 if it is not known. `machine` has the
// rates of the device if it describes a device, otherwise the rates of the host.
MemoryLimit limit_of(const std::string& route, double bytes, const Machine& machine) {
  if (route == kHostToDevice || needs_device(route) != machine.device.has_value())
    return {.gb_s = 0, .level = needs_device(route) ? "device" : "dram"};
  return memory_limit(machine, bytes);
}

Measurement measurement_of(const std::string& route, const Samples& samples,
                           const kv::SegmentShape& shape, const Machine& machine) {
  const double layer_bytes = static_cast<double>(shape.bytes()) / static_cast<double>(shape.layers);
  Measurement out;
  samples.taking.add_to(out);
  out.sample(kLayerMs, samples.layer_ms);
  out.set(kLayerMb, layer_bytes * 1e-6);
  out.derive(kCopiedGbS, kLayerMs, [&](double ms) { return layer_bytes / (ms * 1e6); });
  // The route reads the source and writes the copy, so it moves twice the shape's bytes.
  const MemoryLimit limit = limit_of(route, 2.0 * static_cast<double>(shape.bytes()), machine);
  if (limit.gb_s > 0)
    out.derive(kMemoryLimitRatio, kCopiedGbS, [&](double gb_s) { return 2 * gb_s / limit.gb_s; });
  out.resolved = {{"layers", shape.layers},
                  {"kv_heads", shape.kv_heads},
                  {"head_dim", shape.head_dim},
                  {"memory_level", limit.level}};
  return out;
}

}  // namespace

KindInfo StateCopyKind::info() {
  return {.name = "state_copy",
          .summary = "copying the keys and values of cached tokens, by layer [Prompt Cache 5.4]",
          .axes = list_axes<StateCopyAxes>(),
          .metrics = {kLayerMs, kLayerMb, kCopiedGbS, kMemoryLimitRatio},
          .series = state_routes(),
          .method_use = std::nullopt};
}

void StateCopyKind::check(const Group& group) {
  const auto axes = group.axes_as<StateCopyAxes>();
  Problems problems;
  for (const std::string& route : routes_of(group))
    if (needs_device(route) && context_.device == Device::kCpu)
      problems.add(
          fmt::format("route {} copies to a device: run it with --device cuda, or leave it "
                      "out with --set series=...",
                      route));
  problems.collect([&] {
    const model::ModelConfig config = Bench::config(group);
    if (axes.layers > config.layers)
      raise("layers is {}, and model {} has {}: set it to at most as many, or to 0 for all",
            axes.layers, config.name, config.layers);
  });
  if (has_route(group, kGather) && axes.modules > axes.tokens)
    problems.add(fmt::format("modules is {}, but there are {} tokens: a module has at least one",
                             axes.modules, axes.tokens));
  problems.raise_if_any();
}

MemoryNeed StateCopyKind::memory_need(const Group& group) {
  const kv::SegmentShape shape = shape_of(group);
  const int copies =
      context_.device == Device::kCpu ? copies_on_host(group) : copies_on_device(group);
  return {.bytes = copies * static_cast<double>(shape.bytes()),
          .of_what = fmt::format("{} times the states of {}", copies, kv::text_of(shape))};
}

std::vector<Measurement> StateCopyKind::measure(const Group& group, const Machine& machine,
                                                const std::atomic<bool>& stop) {
  const kv::SegmentShape shape = shape_of(group);
  const std::vector<std::string> names = routes_of(group);
  StateRoutes routes(shape, names, group.axes_as<StateCopyAxes>().modules, context_);
  for (const std::string& name : names)
    REPRISE_CHECK(routes.copies_all(name), "route {} copies something else", name);
  std::vector<Samples> samples(names.size());
  for (Samples& of_route : samples) of_route.taking = Undisturbed(group.repetitions);
  for (int64_t r = -group.warmup; r < group.repetitions; ++r) {
    for (size_t m = 0; m < names.size(); ++m) {
      begin_turn(group, r, m, stop);
      const auto prepare = [&] {
        routes.prepare(names[m]);
        wake_threads(context_);
      };
      const auto run = [&] { return routes.run(names[m]); };
      if (r < 0) {
        prepare();
        run();
      } else {
        const int64_t ns = samples[m].taking.take(prepare, run);
        samples[m].layer_ms.push_back(static_cast<double>(ns) * 1e-6 /
                                      static_cast<double>(shape.layers));
      }
    }
  }
  std::vector<Measurement> measurements;
  for (size_t m = 0; m < names.size(); ++m) {
    Measurement& one =
        measurements.emplace_back(measurement_of(names[m], samples[m], shape, machine));
    if (names[m] == kHostToDevice) one.resolved["host_locked"] = routes.is_source_locked();
  }
  return measurements;
}

}  // namespace reprise::experiments
