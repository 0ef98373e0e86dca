// Skips all tests of a program, with the reason, if the build has no FAISS.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "methods/attn_cache/vector_index.h"

namespace reprise::testing {

class NeedsFaiss : public ::testing::Environment {
 public:
  void SetUp() override {
    const std::string absence = attn_cache::index_absence(attn_cache::IndexKind::kHnsw);
    if (!absence.empty()) GTEST_SKIP() << absence;
  }
  static const ::testing::Environment* add() {
    return ::testing::AddGlobalTestEnvironment(new NeedsFaiss);
  }
};

}  // namespace reprise::testing
