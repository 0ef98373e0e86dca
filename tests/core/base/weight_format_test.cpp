#include "core/base/weight_format.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"

namespace reprise {
namespace {

TEST(WeightFormat, EveryNameIsReadBack) {
  for (const WeightFormat format : kWeightFormats)
    EXPECT_EQ(parse_weight_format(name_of(format)), format) << name_of(format);
  EXPECT_EQ(parse_weight_format("bfloat16"), WeightFormat::kBF16);
  EXPECT_EQ(parse_weight_format("half"), WeightFormat::kF16);
}

TEST(WeightFormat, UnknownNamesOfferTheNearest) {
  const auto message = [](std::string_view name) -> std::string {
    try {
      parse_weight_format(name);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("nf-4").find("did you mean \"nf4\"?"), std::string::npos) << message("nf-4");
  for (const WeightFormat format : kWeightFormats)
    EXPECT_NE(message("q").find(name_of(format)), std::string::npos) << message("q");
  EXPECT_NE(message(""), "");
}

TEST(WeightFormat, PlainFormatsAreThoseOfDtypes) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const WeightFormat format = format_of(dtype);
    EXPECT_FALSE(is_quantized(format));
    EXPECT_EQ(source_dtype(format), dtype);
    EXPECT_EQ(name_of(format), name_of(dtype));
    EXPECT_EQ(bits_per_weight(format), 8.0 * static_cast<double>(size_of(dtype)));
    EXPECT_EQ(WeightType(format).input, dtype);
  }
}

TEST(WeightFormat, CodesAreMadeOfF32AndTakeFewerBits) {
  for (const WeightFormat format :
       {WeightFormat::kInt8, WeightFormat::kInt4, WeightFormat::kNf4, WeightFormat::kNf4Double}) {
    EXPECT_TRUE(is_quantized(format));
    EXPECT_EQ(source_dtype(format), DType::kF32);
    EXPECT_LT(bits_per_weight(format), 16.0);
  }
  EXPECT_NEAR(bits_per_weight(WeightFormat::kNf4Double), 4.127, 0.001);  // QLoRA §3
}

}  // namespace
}  // namespace reprise
