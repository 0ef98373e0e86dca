// Every report of the emulator is provoked by a tiny faulty kernel, and right ones run without any.
#include <gtest/gtest.h>

#include <string>

#include "tests/cuda_on_cpu/faulty_kernels.h"
#include "tests/cuda_on_cpu/include/cuda_on_cpu.h"

namespace reprise::kernels::cuda::faulty {
namespace {

using cuda_on_cpu::Fault;
using cuda_on_cpu::Order;
using cuda_on_cpu::set_order;

class BothOrders : public ::testing::TestWithParam<Order> {
 protected:
  void SetUp() override { set_order(GetParam()); }
  void TearDown() override { set_order(Order::kForward); }
};

TEST_P(BothOrders, RightKernelsRun) {
  for (const CleanKernel& kernel : clean_kernels()) try {
      kernel.run();
    } catch (const Fault& fault) {
      ADD_FAILURE() << kernel.name << ": " << fault.what();
    }
}

INSTANTIATE_TEST_SUITE_P(Faults, BothOrders, ::testing::Values(Order::kForward, Order::kBackward));

TEST(Faults, EachIsReportedByItsNameAndPlace) {
  for (const FaultyKernel& kernel : faulty_kernels()) try {
      kernel.run();
      ADD_FAILURE() << kernel.name << ": no report";
    } catch (const Fault& fault) {
      EXPECT_STREQ(name_of(fault.kind()), name_of(kernel.kind))
          << kernel.name << ": " << fault.what();
      EXPECT_NE(std::string(fault.what()).find(kernel.says), std::string::npos)
          << kernel.name << ": " << fault.what();
    }
}

// A fault is found in either order of threads, though its text may differ.
TEST(Faults, EachIsReportedInTheOtherOrderToo) {
  set_order(Order::kBackward);
  for (const FaultyKernel& kernel : faulty_kernels())
    EXPECT_THROW(kernel.run(), Fault) << kernel.name;
  set_order(Order::kForward);
}

TEST(Faults, AKernelRunsAfterAFaultyOne) {
  for (const FaultyKernel& kernel : faulty_kernels()) {
    EXPECT_THROW(kernel.run(), Fault) << kernel.name;
    EXPECT_NO_THROW(clean_kernels()[0].run()) << "after " << kernel.name;
  }
}

}  // namespace
}  // namespace reprise::kernels::cuda::faulty
