#include "tests/core/engine/stress.h"

namespace reprise::engine {
namespace {

TEST(Stress, EveryMethodServesACrowdAsItServesOne) {
  testing::stress_every_method(/*seed=*/1, /*requests=*/60, "llama-2-7b");
}

}  // namespace
}  // namespace reprise::engine
