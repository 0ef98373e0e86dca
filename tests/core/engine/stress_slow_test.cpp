#include "tests/core/engine/stress.h"

namespace reprise::engine {
namespace {

// More than 10^4 requests for each seed.
TEST(Stress, EveryMethodServesTenThousandRequests) {
  testing::stress_every_method(/*seed=*/1000, /*requests=*/700, "llama-2-7b");
  testing::stress_every_method(/*seed=*/2000, /*requests=*/700, "falcon-7b");
}

}  // namespace
}  // namespace reprise::engine
