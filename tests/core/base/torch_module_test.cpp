#include "core/base/torch_module.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(TorchModule, MissingFileIsNamedWithTheRemedy) {
  const TorchModule module = load_torch_module("2.1.0", "libnowhere.so", "any", "training needs");
  EXPECT_EQ(module.symbol, nullptr);
  for (const char* part :
       {"lib/reprise/libnowhere.so", "training needs libtorch", "setup.sh --torch"})
    EXPECT_NE(module.absence.find(part), std::string::npos) << module.absence;
}

TEST(TorchModule, BuildWithoutLibtorchSaysSo) {
  const TorchModule module = load_torch_module("", "libnowhere.so", "any", "training needs");
  EXPECT_NE(module.absence.find("built without libtorch"), std::string::npos) << module.absence;
}

}  // namespace
}  // namespace reprise
