// Tests that an operation on rows that is called for a device that this build does not support
// throws an error with the operation's name.
#include <gtest/gtest.h>

#include <string>

#include "core/base/error.h"
#include "core/kernels/activation/activation.h"
#include "core/kernels/clip/clip.h"
#include "core/kernels/embedding/embedding.h"
#include "core/kernels/norm/norm.h"
#include "core/kernels/rotary/rotary.h"
#include "core/kernels/routing/routing.h"
#include "core/kernels/rows/combine_rows.h"
#include "core/kernels/rows/gather_rows.h"

namespace reprise::kernels {
namespace {

TEST(OperationDevice, OneThatIsNotThereIsNamedWithTheOperation) {
  struct Operation {
    const char* name;
    void (*run)(const Context&);
  };
  for (const Operation& operation :
       {Operation{"a norm", [](const Context& c) { NormCall{}.run(c); }},
        Operation{"an activation", [](const Context& c) { ActivationCall{}.run(c); }},
        Operation{"rotary embedding", [](const Context& c) { RotaryCall{}.run(c); }},
        Operation{"an embedding", [](const Context& c) { EmbeddingCall{}.run(c); }},
        Operation{"clipping", [](const Context& c) { ClipCall{.limit = 1.0f}.run(c); }},
        Operation{"picking rows", [](const Context& c) { GatherRowsCall{}.run(c); }},
        Operation{"adding rows", [](const Context& c) { CombineRowsCall{}.run(c); }},
        Operation{"a router",
                  [](const Context& c) { RoutingCall{.experts = 1, .per_row = 1}.run(c); }}})
    try {
      operation.run({.device = Device::kCuda});
      FAIL() << operation.name << ": no error";
    } catch (const Error& error) {
      for (const std::string& part : {std::string("cuda"), std::string(operation.name)})
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace reprise::kernels
