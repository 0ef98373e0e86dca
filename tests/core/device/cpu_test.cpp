#include "core/device/cpu.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace reprise {
namespace {

TEST(Isa, NamesParseUpToTheBestOfThisProcessor) {
  for (Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    if (isa <= best_isa()) {
      EXPECT_EQ(parse_isa(name_of(isa)), isa);
    } else {
      EXPECT_THROW(parse_isa(name_of(isa)), Error);
    }
  }
  try {
    parse_isa("sse9");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"sse9\""), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("avx512-bf16"), std::string::npos);
  }
}

TEST(CpuFacts, AQuotaLimitsTheNumberOfThreads) {
  EXPECT_EQ(processors_within_quota(64, std::nullopt), 64);
  EXPECT_EQ(processors_within_quota(64, 100.0), 64);
  EXPECT_EQ(processors_within_quota(64, 2.0), 2);
  EXPECT_EQ(processors_within_quota(64, 1.5), 2);
  EXPECT_EQ(processors_within_quota(64, 0.1), 1);
}

TEST(CpuFacts, ArePlausible) {
  EXPECT_GE(cpu_facts().logical_cores, 1);
  EXPECT_GE(cpu_facts().l1d_bytes, 0);
  EXPECT_GE(cpu_facts().l3_instances, 1);
  EXPECT_GE(cpu_facts().threads_of_core, 1);
}

}  // namespace
}  // namespace reprise
