// A tiny faulty kernel provokes each report of the emulator; correct kernels run without a report.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cuda_on_cpu/faulty_kernels.h"
#include "tests/cuda_on_cpu/include/cuda_on_cpu.h"

namespace reprise::kernels::cuda::faulty {
namespace {

using cuda_on_cpu::Fault;
using cuda_on_cpu::Order;
using cuda_on_cpu::set_order;

constexpr uint64_t kSeeds = 10;  // of random orders

template <typename T>
std::vector<T> all_of(std::initializer_list<std::span<const T>> lists) {
  std::vector<T> all;
  for (const std::span<const T> list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}
std::vector<FaultyKernel> all_faulty() {
  return all_of({faulty_kernels(), faulty_mbarriers(), faulty_launches()});
}

void run_clean_kernels() {
  for (const CleanKernel& kernel : all_of({clean_kernels(), clean_mbarriers(), clean_launches()}))
    try {
      kernel.run();
    } catch (const Fault& fault) {
      ADD_FAILURE() << kernel.name << ": " << fault.what();
    }
}

class Faults : public ::testing::Test {
 protected:
  void TearDown() override { set_order(Order::kForward); }
};

TEST_F(Faults, RightKernelsRunInEveryOrder) {
  for (const Order order : {Order::kForward, Order::kBackward}) {
    set_order(order);
    run_clean_kernels();
  }
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    set_order(Order::kRandom, seed);
    run_clean_kernels();
  }
}

TEST_F(Faults, EachIsReportedByItsNameAndPlace) {
  for (const FaultyKernel& kernel : all_faulty()) try {
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
TEST_F(Faults, EachIsReportedInTheOtherOrderToo) {
  set_order(Order::kBackward);
  for (const FaultyKernel& kernel : all_faulty()) EXPECT_THROW(kernel.run(), Fault) << kernel.name;
}

TEST_F(Faults, ThoseOfMbarriersAreReportedInRandomOrders) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    set_order(Order::kRandom, seed);
    for (const FaultyKernel& kernel : faulty_mbarriers())
      EXPECT_THROW(kernel.run(), Fault) << kernel.name << ", seed " << seed;
  }
}

TEST_F(Faults, AKernelRunsAfterAFaultyOne) {
  for (const FaultyKernel& kernel : all_faulty()) {
    EXPECT_THROW(kernel.run(), Fault) << kernel.name;
    EXPECT_NO_THROW(clean_kernels()[0].run()) << "after " << kernel.name;
  }
}

}  // namespace
}  // namespace reprise::kernels::cuda::faulty
