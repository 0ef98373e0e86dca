// Compares rotary frequencies and angles with values that transformers 5.23 computed
// (LlamaRotaryEmbedding, float32, 16 dimensions). Frequencies must be equal to the last bit,
// because an angle is a position times a frequency.
#include "core/model/network/positions.h"

#include <gtest/gtest.h>

#include "core/kernels/rotary/rotary.h"

namespace reprise::model {
namespace {

struct Case {
  const char* name;
  RotaryConfig rotary;
  int32_t position;  // the sequence ends here
  std::vector<float> frequencies, cosines;
};

std::vector<Case> cases() {
  return {
      {"plain",
       {.theta = 5e5, .dims = 16},
       4001,
       {1.0F, 0.193922758F, 0.0376060307F, 0.00729266508F, 0.00141421345F, 0.000274248188F,
        5.31829573e-05F, 1.03133852e-05F},
       {0.180756584F, -0.996092021F, 0.944503486F, -0.618770361F, 0.811011493F, 0.456030071F,
        0.977446556F, 0.999148786F}},
      {"linear",
       {.theta = 1e4, .dims = 16, .scaling = RopeScaling::kLinear, .factor = 2.5},
       4001,
       {0.400000006F, 0.1264911F, 0.0399999991F, 0.0126491114F, 0.00399999972F, 0.00126491114F,
        0.000400000019F, 0.000126491112F},
       {-0.239093915F, -0.956957817F, -0.983622372F, 0.941543281F, -0.956500292F, 0.341507435F,
        -0.0295994394F, 0.874646127F}},
      {"dynamic",
       {.theta = 1e4,
        .dims = 16,
        .scaling = RopeScaling::kDynamic,
        .factor = 4.0,
        .original_max_positions = 64},
       200,
       {1.0F, 0.229043722F, 0.0524610206F, 0.0120158661F, 0.00275215856F, 0.000630364579F,
        0.000144381047F, 3.30695693e-05F},
       {0.487187684F, -0.252877116F, -0.482380778F, -0.739533365F, 0.852298796F, 0.992063344F,
        0.999583125F, 0.999978125F}},
      {"llama3",
       {.theta = 5e5,
        .dims = 16,
        .scaling = RopeScaling::kLlama3,
        .factor = 32.0,
        .low_freq_factor = 1.0,
        .high_freq_factor = 4.0,
        .original_max_positions = 512},
       4001,
       {1.0F, 0.193922758F, 0.0262446441F, 0.000227895784F, 4.41941702e-05F, 8.57025589e-06F,
        1.66196742e-06F, 3.22293289e-07F},
       {0.180756584F, -0.996092021F, -0.236276567F, 0.612314939F, 0.984407902F, 0.999412179F,
        0.999977887F, 0.999999166F}},
  };
}

TEST(Positions, FrequenciesAreTheSameNumbers) {
  for (const Case& c : cases()) {
    const std::vector<float> got = rotary_frequencies(c.rotary, c.position + 1);
    ASSERT_EQ(got.size(), c.frequencies.size()) << c.name;
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(got[i], c.frequencies[i]) << c.name << " " << i;
  }
}

// Angles computed from exact frequencies would differ by some 1e-4 here.
TEST(Positions, AnglesFarOutMatch) {
  for (const Case& c : cases()) {
    std::vector<float> cos(8), sin(8);
    kernels::rotary_angles({&c.position, 1}, c.frequencies, 1.0f, cos.data(), sin.data(),
                           Context::machine());
    for (size_t i = 0; i < cos.size(); ++i)
      EXPECT_NEAR(cos[i], c.cosines[i], 2e-7) << c.name << " " << i;
  }
}

TEST(Positions, AlibiSlopesOfHeadsThatAreNoPowerOfTwo) {
  EXPECT_EQ(alibi_slopes(6, 8.0),
            (std::vector<float>{0x1p-2F, 0x1p-4F, 0x1p-6F, 0x1p-8F, 0x1p-1F, 0x1p-3F}));
}

}  // namespace
}  // namespace reprise::model
