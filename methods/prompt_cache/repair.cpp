#include "methods/prompt_cache/repair.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/model/network/layer_policy.h"

namespace reprise::prompt_cache {
namespace {

// Layers from `end` on pass their rows as they are: their states are not wanted.
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

// Squared distance of the keys and values of two tokens in `layer`.
double distance(const kv::CacheView& a, int64_t token_a, const kv::CacheView& b, int64_t token_b,
                int64_t layer) {
  std::vector<float> x(static_cast<size_t>(a.head_dim)), y(x.size());
  const auto read = [&](const kv::CacheView& view, const void* data, int64_t head, int64_t token,
                        std::vector<float>& out) {
    const int64_t at = layer * view.layer_stride + head * view.head_stride + token * view.head_dim;
    convert(static_cast<const std::byte*>(data) + static_cast<size_t>(at) * size_of(view.dtype),
            view.dtype, out.data(), DType::kF32, view.head_dim);
  };
  double sum = 0;
  const auto add = [&](const void* of_a, const void* of_b, int64_t head) {
    read(a, of_a, head, token_a, x);
    read(b, of_b, head, token_b, y);
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

// [tokens]  of `placed`, whose states as imported lie in `runs`.
std::vector<double> deviations(model::Decoder& decoder, const std::vector<StateRun>& runs,
                               const PlacedTokens& placed, const EncodeOptions& options) {
  const int64_t layer = std::min<int64_t>(1, decoder.config().layers - 1);
  FirstLayers first_layers(layer + 1);
  const kv::SegmentBuffer common = compute_states(decoder, placed, options, {}, &first_layers);
  std::vector<double> out;
  for (const StateRun& run : runs)
    for (int32_t t = 0; t < run.tokens; ++t)
      out.push_back(distance(run.states->view, run.first + t, common.view(),
                             static_cast<int64_t>(out.size()), layer));
  return out;
}

// Indices of the `count` largest, ascending; of equal ones the first.
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

// Cuts `runs` where chosen tokens stand. Each of what stays is seen by the chosen ones behind it.
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

// Both kinds of runs by position; chosen tokens at consecutive positions are one run.
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
  const auto owner =
      std::make_shared<const kv::SegmentBuffer>(compute_states(decoder, again, options, kept));
  const auto states =
      std::make_shared<const SharedStates>(SharedStates{.view = owner->view(), .owner = owner});
  return {.runs = merged(kept, again, states),
          .recomputed = count,
          .recomputed_bytes = owner->shape.bytes()};
}

}  // namespace reprise::prompt_cache
