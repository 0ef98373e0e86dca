#include "experiments/serving/rates_in_turn.h"

namespace reprise::experiments::serving {

void add_rates(const std::vector<double>& rates, const std::vector<double>& first,
               Measurement& out) {
  out.resolved["repetitions"] = rates.size();
  std::vector<double> speedups;
  for (size_t r = 0; r < rates.size(); ++r)
    if (first[r] > 0) speedups.push_back(rates[r] / first[r]);
  out.sample(kThroughputSpeedup, speedups);
}

}  // namespace reprise::experiments::serving
