// Launches that begin early and do not wait for earlier launches where they must.
#include "tests/cuda_on_cpu/faulty_kernels.h"
#include "tests/cuda_on_cpu/run_tiny.cuh"

namespace reprise::kernels::cuda::faulty {
namespace {

using enum FaultKind;
using Data = DeviceArray<float>;

constexpr int kThreads = kFloats / 2;

// n = 32 is the number of threads. Each thread has a float in both halves of the data.
__global__ void wait_and_write(float* data, int n) {
  await_previous_kernels();
  data[threadIdx.x] = static_cast<float>(n);
}
__global__ void write_and_wait(float* data, int) {
  data[threadIdx.x] = 1.0f;
  await_previous_kernels();
}
__global__ void add_and_wait(float* data, int n) {
  if (static_cast<int>(threadIdx.x) < n) atomicAdd(data, 1.0f);
  await_previous_kernels();
}
__global__ void read_and_wait(float* data, int n) {
  const float read = data[threadIdx.x];
  await_previous_kernels();
  data[static_cast<unsigned>(n) + threadIdx.x] = read;
}
// Reads the half that read_and_wait() writes.
__global__ void read_other_and_wait(float* data, int n) {
  const float read = data[static_cast<unsigned>(n) + threadIdx.x];
  await_previous_kernels();
  data[threadIdx.x] = read;
}
__global__ void copy_and_wait(float* data, int n) {
  float* const shared = dynamic_shared<float>();
  copy_async<4>(shared + threadIdx.x, data + threadIdx.x);
  await_previous_kernels();
  copy_async_commit();
  copy_async_wait<0>();
  data[static_cast<unsigned>(n) + threadIdx.x] = shared[threadIdx.x];
}
__global__ void wait_and_double(float* data, int n) {
  await_previous_kernels();
  data[static_cast<unsigned>(n) + threadIdx.x] *= 2.0f;
}
__global__ void one_waits_for_all(float* data, int n) {
  if (threadIdx.x == 0) await_previous_kernels();
  __syncthreads();
  data[static_cast<unsigned>(n) + threadIdx.x] = 1.0f;
}
__global__ void nobody_waits(float* data, int n) {
  dynamic_shared<float>()[threadIdx.x] = data[static_cast<unsigned>(n) + threadIdx.x];
}

void begin(Kernel kernel, const Data& data, bool early = true, cudaStream_t stream = nullptr) {
  launch({.name = "tiny",
          .grid = dim3(1),
          .block = dim3(kThreads),
          .shared_bytes = kThreads * sizeof(float),
          .begins_early = early},
         stream, kernel, data.data(), kThreads);
}

template <Kernel... kKernels>
void run_early() {
  const Data data(std::vector<float>(kFloats, 1.0f));
  (begin(kKernels, data), ...);
}

// The third launch, which begins early, reads what the first launch writes.
void with_a_plain_launch_between() {
  const Data data(std::vector<float>(kFloats, 1.0f)), others(data.values());
  begin(wait_and_write, data);
  begin(wait_and_write, others, /*early=*/false);
  begin(read_and_wait, data);
}
void with_a_copy_between() {
  const Data data(std::vector<float>(kFloats, 1.0f));
  begin(wait_and_write, data);
  static_cast<void>(data.values());
  begin(read_and_wait, data);
}
void with_a_memset_between() {
  const Data data(std::vector<float>(kFloats, 1.0f)), others(kFloats);
  begin(wait_and_write, data);
  cudaMemset(others.data(), 0, kFloats * sizeof(float));
  begin(read_and_wait, data);
}
void with_a_library_between() {
  const Data data(std::vector<float>(kFloats, 1.0f)), others(kFloats);
  begin(wait_and_write, data);
  cuda_on_cpu::library_wrote(others.data(), kFloats * sizeof(float));
  begin(read_and_wait, data);
}
void with_waits_between() {
  const Data data(std::vector<float>(kFloats, 1.0f));
  cudaStream_t first, second;
  cudaEvent_t event;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  begin(wait_and_write, data, /*early=*/true, first);
  cudaStreamSynchronize(first);
  begin(read_and_wait, data, /*early=*/true, first);
  cudaEventRecord(event, first);
  cudaStreamWaitEvent(second, event, 0);
  begin(read_other_and_wait, data, /*early=*/true, second);
  cudaStreamSynchronize(second);
  cudaEventDestroy(event);
  cudaStreamDestroy(second);
  cudaStreamDestroy(first);
}
void after_a_library() {
  const Data data(std::vector<float>(kFloats, 1.0f));
  cuda_on_cpu::library_wrote(data.data(), kFloats * sizeof(float));
  begin(read_and_wait, data);
}
void after_a_plain_launch() {
  const Data data(std::vector<float>(kFloats, 1.0f));
  begin(wait_and_write, data, /*early=*/false);
  begin(read_and_wait, data);
}
void plain_launches() {
  const Data data(std::vector<float>(kFloats, 1.0f));
  for (const Kernel kernel : {write_and_wait, read_and_wait, nobody_waits})
    begin(kernel, data, /*early=*/false);
}

constexpr const char* kNoWait = "has not waited for those";

constexpr FaultyKernel kFaulty[] = {
    {"write_and_wait", kRace, "before it has waited", run_early<write_and_wait>},
    {"add_and_wait", kRace, "updates atomically", run_early<add_and_wait>},
    {"one_waits_for_all", kRace, "before it has waited", run_early<one_waits_for_all>},
    {"nobody_waits", kRace, "none of its threads", run_early<nobody_waits>},
    {"read_and_wait", kRace, kNoWait, run_early<wait_and_write, read_and_wait>},
    {"copy_and_wait", kRace, kNoWait, run_early<wait_and_write, copy_and_wait>},
    {"after_a_plain_launch", kRace, kNoWait, after_a_plain_launch},
    {"after_a_library", kRace, kNoWait, after_a_library},
    {"read_other_and_wait", kRace, kNoWait, run_early<read_and_wait, read_other_and_wait>},
    {"read_of_the_last_but_one", kRace, kNoWait,
     run_early<wait_and_write, wait_and_double, read_and_wait>},
};

constexpr CleanKernel kClean[] = {
    {"wait_and_write", run_early<wait_and_write, wait_and_write>},
    {"read_and_wait", run_early<read_and_wait>},
    {"with_a_plain_launch_between", with_a_plain_launch_between},
    {"with_a_copy_between", with_a_copy_between},
    {"with_a_memset_between", with_a_memset_between},
    {"with_a_library_between", with_a_library_between},
    {"with_waits_between", with_waits_between},
    {"plain_launches", plain_launches},
};

}  // namespace

std::span<const FaultyKernel> faulty_launches() { return kFaulty; }
std::span<const CleanKernel> clean_launches() { return kClean; }

}  // namespace reprise::kernels::cuda::faulty
