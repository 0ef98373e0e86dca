#include "results/better.h"

#include <gtest/gtest.h>

namespace reprise::results {
namespace {

TEST(Better, FollowsFromWhatAMetricIs) {
  struct Case {
    const char *name, *unit;
    Better better;
  };
  for (const Case& c : {Case{"ttft_ms", "ms", Better::kLower},
                        Case{"ttft_ms.p99", "ms", Better::kLower},
                        Case{"normalised_latency_s", "s/token", Better::kLower},
                        Case{"peak_kv_mb", "MB", Better::kLower},
                        Case{"mean_kl", "nats", Better::kLower},
                        Case{"errors", "requests", Better::kLower},
                        Case{"ttft_over_limit", "ratio", Better::kLower},
                        Case{"score_loss", "ratio", Better::kLower},
                        Case{"speedup_degradation", "ratio", Better::kLower},
                        Case{"tokens_per_s", "tokens/s", Better::kHigher},
                        Case{"throughput_rps", "1/s", Better::kHigher},
                        Case{"goodput_share", "share", Better::kHigher},
                        Case{"speedup", "ratio", Better::kHigher},
                        Case{"score", "ratio", Better::kHigher},
                        Case{"accuracy", "ratio", Better::kHigher},
                        Case{"memory_limit_ratio", "ratio", Better::kHigher},
                        Case{"beside_gb_s", "GB/s", Better::kUnknown},
                        Case{"offered_rps", "1/s", Better::kUnknown},
                        Case{"relay_theory_speedup", "ratio", Better::kUnknown},
                        Case{"io_bound_speedup", "ratio", Better::kUnknown},
                        Case{"ttft_limit_ms", "ms", Better::kUnknown},
                        Case{"prompt_tokens_total", "tokens", Better::kUnknown},
                        Case{"p_value", "probability", Better::kUnknown}})
    EXPECT_EQ(better_of(c.name, c.unit), c.better) << c.name;
}

}  // namespace
}  // namespace reprise::results
