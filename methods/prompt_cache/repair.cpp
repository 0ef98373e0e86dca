#include "methods/prompt_cache/repair.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/model/network/layer_policy.h"
#include "core/store/token_states.h"

namespace reprise::prompt_cache {
namespace {

// Computes only the layers before `end`. Later layers are skipped, because their states are not
// needed.
class FirstLayers final : public model::LayerPolicy {
 public:
  explicit FirstLayers(int64_t end) : end_(end) {}
  model::LayerChoice choose(model::LayerInput& input) override {
    return {.action = input.layer() < end_ ? model::LayerAction::kCompute
                                           : model::LayerAction::kSkipBlock};
  }

 private:
  int64_t end_;
};

// The place of a token's keys and values in one layer of states in host memory.
struct TokenPlace {
  kv::CacheView states;
  int64_t layer = 0, token = 0;
};

// Squared distance of the keys and values of two tokens.
double distance(const TokenPlace& place_a, const TokenPlace& place_b) {
  const kv::CacheView &a = place_a.states, &b = place_b.states;
  std::vector<float> x(static_cast<size_t>(a.head_dim)), y(x.size());
  const auto read = [&](const TokenPlace& place, const void* data, int64_t head,
                        std::vector<float>& out) {
    const kv::CacheView& view = place.states;
    const int64_t at =
        place.layer * view.layer_stride + head * view.head_stride + place.token * view.head_dim;
    convert(static_cast<const std::byte*>(data) + static_cast<size_t>(at) * size_of(view.dtype),
            view.dtype, out.data(), DType::kF32, view.head_dim);
  };
  double sum = 0;
  const auto add = [&](const void* of_a, const void* of_b, int64_t head) {
    read(place_a, of_a, head, x);
    read(place_b, of_b, head, y);
    for (size_t c = 0; c < x.size(); ++c) {
      const double d = static_cast<double>(x[c]) - static_cast<double>(y[c]);
      sum += d * d;
    }
  };
  for (int64_t head = 0; head < a.kv_heads; ++head) {
    add(a.keys, b.keys, head);
    add(a.values, b.values, head);
  }
  return sum;
}

// One layer of a run in host memory: the place of its first token, and the copy if one was needed.
struct HostLayer {
  TokenPlace first;
  std::optional<kv::SegmentBuffer> copy;
};
HostLayer on_host(const StateRun& run, int64_t layer) {
  kv::CacheView view = run.states->view;
  if (view.device == Device::kCpu) {
    if (run.states->unchecked != nullptr) run.states->unchecked->check_layer(layer);
    return {.first = {view, layer, run.first}};
  }
  const auto of_layer = [&](void* data) {
    return static_cast<std::byte*>(data) +
           static_cast<size_t>(layer * view.layer_stride) * size_of(view.dtype);
  };
  view.keys = of_layer(view.keys);
  view.values = of_layer(view.values);
  const kv::TokenRun tokens{.tokens = run.tokens, .offset = run.first * view.head_dim};
  const Context context{.device = view.device, .runtime = run.states->arriving->runtime()};
  HostLayer host{.copy = kv::copy_out(view, /*layers=*/1, {&tokens, 1}, context)};
  host.first.states = host.copy->view();
  return host;
}

// The deviation of each token of `placed`, [tokens]. `runs` are the imported states of these
// tokens.
std::vector<double> deviations(model::Decoder& decoder, const std::vector<StateRun>& runs,
                               const PlacedTokens& placed, const EncodeOptions& options) {
  const int64_t layer = std::min<int64_t>(1, decoder.config().layers - 1);
  FirstLayers first_layers(layer + 1);
  const kv::SegmentBuffer common = compute_states(decoder, placed, options, {}, &first_layers);
  std::vector<double> out;
  bring_whole(runs);
  for (const StateRun& run : runs) {
    const HostLayer imported = on_host(run, layer);
    TokenPlace place = imported.first;
    for (int32_t t = 0; t < run.tokens; ++t, ++place.token)
      out.push_back(distance(place, {common.view(), layer, std::ssize(out)}));
  }
  return out;
}

// Indices of the `count` largest values, ascending; of equal values the first.
std::vector<int32_t> largest(const std::vector<double>& values, int32_t count) {
  std::vector<int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
  });
  order.resize(static_cast<size_t>(count));
  std::sort(order.begin(), order.end());
  return order;
}

// Removes the chosen tokens (ascending indices over all runs) and returns the parts of the runs
// that remain. A part is seen by the chosen tokens after it: from_token is the index in `chosen` of
// the first of these tokens.
std::vector<SeenRun> kept_runs(const std::vector<StateRun>& runs,
                               const std::vector<int32_t>& chosen) {
  std::vector<SeenRun> kept;
  int32_t token = 0;
  size_t next = 0;
  for (const StateRun& run : runs) {
    bool is_open = false;
    for (int32_t t = 0; t < run.tokens; ++t, ++token) {
      if (next < chosen.size() && chosen[next] == token) {
        ++next;
        is_open = false;
        continue;
      }
      if (!is_open)
        kept.push_back({.run = {.states = run.states,
                                .first = run.first + t,
                                .tokens = 0,
                                .first_position = run.first_position + t},
                        .from_token = static_cast<int32_t>(next)});
      ++kept.back().run.tokens;
      is_open = true;
    }
  }
  return kept;
}

// Returns the kept runs and runs of the chosen tokens, sorted by position. Chosen tokens at
// consecutive positions form one run.
std::vector<StateRun> merged(const std::vector<SeenRun>& kept, const PlacedTokens& chosen,
                             const std::shared_ptr<const SharedStates>& states) {
  std::vector<StateRun> runs;
  for (const SeenRun& one : kept) runs.push_back(one.run);
  for (int32_t t = 0; t < static_cast<int32_t>(chosen.tokens.size()); ++t) {
    const int32_t position = chosen.positions[static_cast<size_t>(t)];
    if (t > 0 && runs.back().first_position + runs.back().tokens == position)
      ++runs.back().tokens;
    else
      runs.push_back({.states = states, .first = t, .tokens = 1, .first_position = position});
  }
  std::stable_sort(runs.begin(), runs.end(), [](const StateRun& a, const StateRun& b) {
    return a.first_position < b.first_position;
  });
  return runs;
}

}  // namespace

Repair repair_states(model::Decoder& decoder, std::vector<StateRun> runs,
                     const PlacedTokens& placed, double ratio, const EncodeOptions& options) {
  if (!(ratio >= 0 && ratio <= 1))
    raise("the share of tokens to be repaired is {}, it is from 0 to 1", ratio);
  const auto tokens = static_cast<int32_t>(placed.tokens.size());
  const auto count = static_cast<int32_t>(std::ceil(ratio * tokens));
  if (count == 0) return {.runs = std::move(runs)};
  const std::vector<int32_t> chosen = largest(deviations(decoder, runs, placed, options), count);
  PlacedTokens again;
  for (const int32_t token : chosen) {
    again.tokens.push_back(placed.tokens[static_cast<size_t>(token)]);
    again.positions.push_back(placed.positions[static_cast<size_t>(token)]);
  }
  const std::vector<SeenRun> kept = kept_runs(runs, chosen);
  return {.runs = merged(kept, again, compute_shared_states(decoder, again, options, kept)),
          .recomputed = count,
          .recomputed_bytes = state_shape(decoder.config(), count, options.kv_dtype).bytes()};
}

}  // namespace reprise::prompt_cache
