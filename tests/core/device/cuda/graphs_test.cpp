#include "core/device/cuda/graphs.h"

#include "tests/core/device/cuda/on_cpu.h"

namespace reprise::cuda {
namespace {

// run() gives a graph work that stores a number in device memory, and counts how often the host
// code of the work is called.
class GraphsTest : public OnCpu {
 protected:
  void SetUp() override {
    OnCpu::SetUp();
    ASSERT_EQ(cudaMalloc(&device_, 4), cudaSuccess);
    stream_ = std::make_unique<Stream>();
    graphs_ = std::make_unique<Graphs>(stream_->get());
  }
  void TearDown() override {
    graphs_.reset();
    stream_.reset();
    cudaFree(device_);
    OnCpu::TearDown();
  }
  void run(uint64_t key, int number) {
    graphs_->run({key, 1}, [&, number] {
      ++calls_;
      cudaMemsetAsync(device_, number, 1, stream_->get());
    });
  }
  int left() {
    stream_->synchronize();
    unsigned char value = 0;
    cudaMemcpy(&value, device_, 1, cudaMemcpyDeviceToHost);
    return value;
  }

  void* device_ = nullptr;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Graphs> graphs_;
  int calls_ = 0;
};

TEST_F(GraphsTest, TheFirstRunIsPlainTheSecondIsRecordedAndLaterOnesAreReplays) {
  for (int time = 0; time < 5; ++time) {
    cudaMemset(device_, 0, 1);
    run(7, 3);
    EXPECT_EQ(left(), 3) << time;
  }
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(graphs_->recordings(), 1);
  EXPECT_EQ(graphs_->replays(), 4);
}

TEST_F(GraphsTest, KeysAreKeptApart) {
  for (int time = 0; time < 3; ++time)
    for (const int key : {1, 2}) {
      run(static_cast<uint64_t>(key), 10 * key);
      EXPECT_EQ(left(), 10 * key);
    }
  EXPECT_EQ(calls_, 4);
  EXPECT_EQ(graphs_->kept(), 2u);
}

TEST_F(GraphsTest, WhatCameLongestAgoIsForgotten) {
  run(0, 1);
  run(0, 1);
  for (uint64_t key = 1; key < Graphs::kMost; ++key) run(key, 2);
  run(0, 1);  // again
  run(1000, 2);
  EXPECT_EQ(graphs_->kept(), Graphs::kMost);
  calls_ = 0;
  run(0, 1);
  EXPECT_EQ(calls_, 0) << "it came again, and was kept";
  run(1, 2);
  run(1, 2);
  EXPECT_EQ(calls_, 2) << "it was forgotten";
}

TEST_F(GraphsTest, AnErrorEndsTheRecordingAndTheNextRunRecordsAnew) {
  run(1, 5);
  EXPECT_THROW(graphs_->run({1, 1}, [] { raise("not now"); }), Error);
  EXPECT_FALSE(graphs_->is_recording());
  run(1, 5);
  EXPECT_EQ(left(), 5);
  EXPECT_EQ(graphs_->recordings(), 1);
}

TEST_F(GraphsTest, AKeyWhoseFirstRunFailedRunsPlainlyAgain) {
  EXPECT_THROW(graphs_->run({1, 1}, [] { raise("not now"); }), Error);
  run(1, 5);
  EXPECT_EQ(graphs_->recordings(), 0);
  run(1, 5);
  EXPECT_EQ(left(), 5);
  EXPECT_EQ(graphs_->recordings(), 1);
}

}  // namespace
}  // namespace reprise::cuda
