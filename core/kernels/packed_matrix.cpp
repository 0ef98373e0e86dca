#include "core/kernels/packed_matrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/cpu/linear_task.h"
#include "core/kernels/cpu/product_onednn.h"

namespace reprise::kernels {
namespace {

constexpr int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Transposes [64][words] (rows `stride` words apart) into [words][64], a cache line of each row at
// a time.
void pack_panel(const uint32_t* rows, int64_t stride, int64_t words, uint32_t* panel) {
  for (int64_t k0 = 0; k0 < words; k0 += 16) {
    const int64_t k1 = std::min(words, k0 + 16);
    for (int64_t row = 0; row < PackedMatrix::kPanel; ++row)
      for (int64_t k = k0; k < k1; ++k)
        panel[k * PackedMatrix::kPanel + row] = rows[row * stride + k];
  }
}

}  // namespace

struct PackedMatrix::Primitives {
  cpu::ProductCache cache;
};

PackedMatrix::PackedMatrix() = default;
PackedMatrix::PackedMatrix(PackedMatrix&&) noexcept = default;
PackedMatrix& PackedMatrix::operator=(PackedMatrix&&) noexcept = default;
PackedMatrix::~PackedMatrix() = default;

PackedMatrix::PackedMatrix(int64_t rows, int64_t cols, DType dtype, const FillRows& fill,
                           const Context& context)
    : rows_(rows), cols_(cols), dtype_(dtype), primitives_(std::make_unique<Primitives>()) {
  REPRISE_CHECK(rows > 0 && cols > 0, "[{}, {}]", rows, cols);
  if (dtype == DType::kF16)
    raise("weights cannot be held in f16: load the model with dtype f32 or bf16");
  const int64_t per_word = dtype == DType::kF32 ? 1 : 2;
  panel_words_ = round_up(cols, 16 * per_word) / per_word;
  data_ = AlignedBuffer(static_cast<size_t>(panels() * panel_words_ * kPanel) * sizeof(uint32_t));
  const size_t row_bytes = static_cast<size_t>(panel_words_) * sizeof(uint32_t);
  const size_t filled_bytes = static_cast<size_t>(cols) * size_of(dtype);
  const auto workers = static_cast<size_t>(std::max(1, context.threads));
  std::vector<AlignedBuffer> padded(workers), raw(workers);
  for (AlignedBuffer& buffer : padded) buffer = AlignedBuffer(kPanel * row_bytes);
  for (AlignedBuffer& buffer : raw) buffer = AlignedBuffer(kPanel * filled_bytes);
  parallel_for(context, panels(), [&](int64_t index, int worker) {
    char* staged = padded[static_cast<size_t>(worker)].as<char>();
    char* source = raw[static_cast<size_t>(worker)].as<char>();
    const int64_t first = index * kPanel, end = std::min(rows, first + kPanel);
    fill(first, end, source);
    for (int64_t row = 0; row < kPanel; ++row) {
      char* target = staged + static_cast<size_t>(row) * row_bytes;
      if (row < end - first) {
        std::memcpy(target, source + static_cast<size_t>(row) * filled_bytes, filled_bytes);
      } else {
        std::memset(target, 0, filled_bytes);
      }
    }
    pack_panel(reinterpret_cast<const uint32_t*>(staged), panel_words_, panel_words_,
               data_.as<uint32_t>() + index * panel_words_ * kPanel);
  });
}

const void* PackedMatrix::panel(int64_t index) const {
  return data_.as<uint32_t>() + index * panel_words_ * kPanel;
}

void PackedMatrix::read_row(int64_t row, float* out) const {
  REPRISE_CHECK(0 <= row && row < rows_, "row {} of {}", row, rows_);
  const int64_t column = row % kPanel;
  if (dtype_ == DType::kF32) {
    const auto* words = static_cast<const float*>(panel(row / kPanel));
    for (int64_t k = 0; k < cols_; ++k) out[k] = words[k * kPanel + column];
  } else {
    const auto* values = static_cast<const bf16*>(panel(row / kPanel));
    for (int64_t k = 0; k < cols_; ++k) out[k] = values[(k / 2 * kPanel + column) * 2 + k % 2];
  }
}

void LinearCall::run(const PackedMatrix& w, LinearWorkspace& workspace,
                     const Context& context) const {
  REPRISE_CHECK(!accumulate || out_dtype == DType::kF32, "only f32 accumulates");
  if (m == 0) return;
  if (m > kStreamedRows && run_product(w, workspace, context)) return;
  run_streamed(w, workspace, context);
}

bool LinearCall::run_product(const PackedMatrix& w, LinearWorkspace& workspace,
                             const Context& context) const {
  // oneDNN has its own dispatch; a weaker instruction set asked for by the context must not be
  // bypassed.
  if (context.isa < (w.dtype() == DType::kBF16 ? Isa::kAvx512Bf16 : Isa::kAvx512)) return false;
  const cpu::ProductShape shape{.m = m,
                                .n = w.rows(),
                                .k = w.cols(),
                                .dtype = w.dtype(),
                                .out_dtype = out_dtype,
                                .has_bias = bias != nullptr,
                                .accumulate = accumulate};
  return w.primitives_->cache.run(shape, x, w.panel(0), bias, out, workspace.scratchpad,
                                  context.threads);
}

void LinearCall::run_streamed(const PackedMatrix& w, LinearWorkspace& workspace,
                              const Context& context) const {
  const size_t element = size_of(w.dtype());
  const size_t row_bytes = static_cast<size_t>(w.panel_words()) * sizeof(uint32_t);
  const size_t x_bytes = static_cast<size_t>(w.cols()) * element;
  const char* input = static_cast<const char*>(x);
  if (row_bytes != x_bytes) {  // pad with zeros to the panel's depth
    const size_t needed = static_cast<size_t>(m) * row_bytes;
    if (workspace.padded_input.bytes() < needed) workspace.padded_input = AlignedBuffer(needed);
    char* padded = workspace.padded_input.as<char>();
    for (int64_t row = 0; row < m; ++row) {
      char* target = padded + static_cast<size_t>(row) * row_bytes;
      std::memcpy(target, input + static_cast<size_t>(row) * x_bytes, x_bytes);
      std::memset(target + x_bytes, 0, row_bytes - x_bytes);
    }
    input = padded;
  }
  const bool dot_bf16 = w.dtype() == DType::kBF16 && context.isa == Isa::kAvx512Bf16;
  const auto run_panel = [&](int64_t index, int) {
    for (int64_t row = 0; row < m; row += cpu::kLinearRows) {
      const int64_t first = index * PackedMatrix::kPanel;
      const cpu::LinearTask task{
          .panel = w.panel(index),
          .dtype = w.dtype(),
          .words = w.panel_words(),
          .x = input + static_cast<size_t>(row) * row_bytes,
          .rows = static_cast<int>(std::min<int64_t>(cpu::kLinearRows, m - row)),
          .bias = bias != nullptr ? bias + first : nullptr,
          .outputs = static_cast<int>(std::min(PackedMatrix::kPanel, w.rows() - first)),
          .out = static_cast<char*>(out) +
                 static_cast<size_t>(row * w.rows() + first) * size_of(out_dtype),
          .out_dtype = out_dtype,
          .out_stride = w.rows(),
          .accumulate = accumulate};
      if (dot_bf16) {
        cpu::linear_panel_avx512_bf16(task);
      } else {
        cpu::linear_panel_f32(task, context.isa);
      }
    }
  };
  // Forking costs a few microseconds: what a core does in that time stays on one.
  constexpr int64_t kSerialProducts = 1 << 17;
  if (m * w.rows() * w.cols() <= kSerialProducts) {
    for (int64_t index = 0; index < w.panels(); ++index) run_panel(index, 0);
  } else {
    parallel_for(context, w.panels(), run_panel);
  }
}

}  // namespace reprise::kernels
