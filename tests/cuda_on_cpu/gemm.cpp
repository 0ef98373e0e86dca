// Matrix products of the emulated device, computed by loops instead of cuBLASLt.
#include "core/kernels/linear/cuda/gemm.h"

#include <fmt/core.h>

#include "tests/cuda_on_cpu/arena.h"
#include "tests/cuda_on_cpu/buffers.h"
#include "tests/cuda_on_cpu/machine.h"

namespace reprise::kernels::cuda {
namespace {

void check_range(const void* data, int64_t elements, DType dtype, const char* what) {
  const size_t bytes = static_cast<size_t>(elements) * size_of(dtype);
  if (const auto finding = cuda_on_cpu::Buffers::all().check(data, bytes))
    throw cuda_on_cpu::Fault(
        finding->kind, fmt::format("a product's {} of {} bytes: {}", what, bytes, finding->text));
}

template <typename T>
float dot(const T* x, const T* w, int64_t k) {
  float sum = 0.0f;
  for (int64_t i = 0; i < k; ++i) sum += static_cast<float>(x[i]) * static_cast<float>(w[i]);
  return sum;
}

template <typename In, typename Out>
void multiply(const GemmCall& call) {
  const auto *x = static_cast<const In*>(call.x), *w = static_cast<const In*>(call.w);
  const auto* bias = static_cast<const Out*>(call.bias);
  auto* out = static_cast<Out*>(call.out);
  for (int64_t row = 0; row < call.m; ++row)
    for (int64_t col = 0; col < call.n; ++col) {
      float y = dot(x + row * call.k, w + col * call.k, call.k);
      Out& to = out[row * call.row_stride() + col];
      if (call.accumulate) y += static_cast<float>(to);
      if (bias != nullptr) y += static_cast<float>(bias[col]);
      to = static_cast<Out>(y);
    }
}

void run_call(const GemmCall& call) {
  check_range(call.x, call.m * call.k, call.dtype, "x");
  check_range(call.w, call.n * call.k, call.dtype, "weights");
  const int64_t outputs = (call.m - 1) * call.row_stride() + call.n;  // with the gaps between rows
  check_range(call.out, outputs, call.out_dtype, "output");
  if (call.bias != nullptr) check_range(call.bias, call.n, call.out_dtype, "bias");
  const cuda_on_cpu::OpenMemory open;
  visit_dtype(call.dtype, [&](auto in) {
    visit_dtype(call.out_dtype, [&](auto out) { multiply<decltype(in), decltype(out)>(call); });
  });
  cuda_on_cpu::library_wrote(call.out, static_cast<size_t>(outputs) * size_of(call.out_dtype));
}

// Bytes of a workspace in device memory, which nothing uses: cuBLASLt has one of 32 MiB, so tests
// must not expect an empty device. Here it is small, because each page makes the emulator slower.
constexpr size_t kWorkspaceBytes = size_t{64} << 10;

class HostGemm final : public Gemm {
 public:
  explicit HostGemm(reprise::cuda::CudaDevice& device)
      : device_(device), workspace_(device.allocate(kWorkspaceBytes)) {}
  ~HostGemm() override { device_.release(workspace_, kWorkspaceBytes); }
  void run(const GemmCall& call) override {
    cuda_on_cpu::run_in(device_.stream(), [call] { run_call(call); });
  }

 private:
  reprise::cuda::CudaDevice& device_;
  void* workspace_;
};

}  // namespace

std::unique_ptr<Gemm> make_gemm(reprise::cuda::CudaDevice& device) {
  return std::make_unique<HostGemm>(device);
}

}  // namespace reprise::kernels::cuda
