// Matrix products by cuBLASLt, which also adds the bias.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <tuple>

#include "core/base/error.h"
#include "core/kernels/linear/cuda/gemm.h"

namespace reprise::kernels::cuda {
namespace {

// Size of the workspace, as NVIDIA recommends for sm_90 [cuBLAS, "cublasSetWorkspace()"].
constexpr size_t kWorkspaceBytes = size_t{32} << 20;

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    raise("{} failed on the CUDA device: {}", call, cublasLtGetStatusString(status));
}

cudaDataType type_of(DType dtype) {
  return dtype == DType::kF32 ? CUDA_R_32F : dtype == DType::kBF16 ? CUDA_R_16BF : CUDA_R_16F;
}

struct Destroy {
  void operator()(cublasLtHandle_t handle) const { cublasLtDestroy(handle); }
  void operator()(cublasLtMatmulDesc_t it) const { cublasLtMatmulDescDestroy(it); }
  void operator()(cublasLtMatrixLayout_t it) const { cublasLtMatrixLayoutDestroy(it); }
  void operator()(cublasLtMatmulPreference_t it) const { cublasLtMatmulPreferenceDestroy(it); }
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;

// Returns the layout of a column-major [rows, cols] matrix, which is a row-major matrix [cols,
// rows] seen as its transpose. Columns are `stride` elements apart.
Owned<cublasLtMatrixLayout_t> layout(DType dtype, int64_t rows, int64_t cols, int64_t stride) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(&made, type_of(dtype), static_cast<uint64_t>(rows),
                                   static_cast<uint64_t>(cols), stride),
        "cublasLtMatrixLayoutCreate");
  return Owned<cublasLtMatrixLayout_t>(made);
}

// Returns the largest power of two up to 256 that divides the address `data`. cuBLASLt chooses
// algorithms by this alignment.
uint32_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return address == 0 ? 256u : 1u << std::min(8, std::countr_zero(address));
}

// The product of one shape, ready to run. In cuBLASLt's column-major terms it is out^T [n, m] = A^T
// B: A is w, which cuBLASLt sees as [k, n], and B is x, which it sees as [k, m].
struct Prepared {
  Owned<cublasLtMatmulDesc_t> operation;
  Owned<cublasLtMatrixLayout_t> w, x, out;
  cublasLtMatmulAlgo_t algorithm{};
};

class CublasLt final : public Gemm {
 public:
  explicit CublasLt(reprise::cuda::CudaDevice& device)
      : device_(device), workspace_(device.allocate(kWorkspaceBytes)) {
    cublasLtHandle_t handle = nullptr;
    check(cublasLtCreate(&handle), "cublasLtCreate");
    handle_.reset(handle);
  }
  ~CublasLt() override { device_.release(workspace_, kWorkspaceBytes); }

  void run(const GemmCall& call) override {
    Prepared& ready = prepared(call);
    if (call.bias != nullptr)
      set(ready, CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias, "the bias of a product");
    const float one = 1.0f, beta = call.accumulate ? 1.0f : 0.0f;
    check(cublasLtMatmul(handle_.get(), ready.operation.get(), &one, call.w, ready.w.get(), call.x,
                         ready.x.get(), &beta, call.out, ready.out.get(), call.out, ready.out.get(),
                         &ready.algorithm, workspace_, kWorkspaceBytes, device_.stream()),
          "cublasLtMatmul");
  }

 private:
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, DType, DType, bool, bool, uint32_t,
                         uint32_t, uint32_t>;

  template <typename T>
  static void set(const Prepared& ready, cublasLtMatmulDescAttributes_t attribute, const T& value,
                  const char* what) {
    check(cublasLtMatmulDescSetAttribute(ready.operation.get(), attribute, &value, sizeof value),
          what);
  }

  Prepared& prepared(const GemmCall& call) {
    const Key key{call.m,
                  call.n,
                  call.k,
                  call.row_stride(),
                  call.dtype,
                  call.out_dtype,
                  call.bias != nullptr,
                  call.accumulate,
                  alignment_of(call.w),
                  alignment_of(call.x),
                  alignment_of(call.out)};
    const auto found = prepared_.find(key);
    return found != prepared_.end() ? found->second
                                    : prepared_.emplace(key, prepare(call)).first->second;
  }

  [[nodiscard]] Prepared prepare(const GemmCall& call) const {
    Prepared ready;
    cublasLtMatmulDesc_t operation = nullptr;
    check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "cublasLtMatmulDescCreate");
    ready.operation.reset(operation);
    set(ready, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T, "the transposition of a product");
    if (call.bias != nullptr) {
      set(ready, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS, "the bias of a product");
      set(ready, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(call.out_dtype),
          "the bias of a product");
      set(ready, CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias, "the bias of a product");
    }
    ready.w = layout(call.dtype, call.k, call.n, call.k);
    ready.x = layout(call.dtype, call.k, call.m, call.k);
    ready.out = layout(call.out_dtype, call.n, call.m, call.row_stride());
    ready.algorithm = best_algorithm(call, ready);
    return ready;
  }

  [[nodiscard]] cublasLtMatmulAlgo_t best_algorithm(const GemmCall& call,
                                                    const Prepared& ready) const {
    cublasLtMatmulPreference_t made = nullptr;
    check(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
    const Owned<cublasLtMatmulPreference_t> preference(made);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check(cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof value),
            "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(call.w));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(call.x));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(call.out));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(call.out));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_.get(), ready.operation.get(), ready.w.get(), ready.x.get(), ready.out.get(),
        ready.out.get(), made, 1, &best, &found);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0)
      raise(
          "cuBLASLt has no product of [{}, {}] x [{}, {}]^T from {} to {}{} on this device ({}): "
          "sizes that are multiples of 8 are always there",
          call.m, call.k, call.n, call.k, name_of(call.dtype), name_of(call.out_dtype),
          call.bias != nullptr ? " with a bias" : "", cublasLtGetStatusString(status));
    return best.algo;
  }

  reprise::cuda::CudaDevice& device_;
  void* workspace_;
  Owned<cublasLtHandle_t> handle_;
  std::map<Key, Prepared> prepared_;
};

}  // namespace

std::unique_ptr<Gemm> make_gemm(reprise::cuda::CudaDevice& device) {
  return std::make_unique<CublasLt>(device);
}

}  // namespace reprise::kernels::cuda
