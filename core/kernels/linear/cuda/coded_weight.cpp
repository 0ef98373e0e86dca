#include "core/kernels/linear/cuda/coded_weight.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/linear/quantize.h"
#include "core/kernels/shared/cuda/scratch.h"

namespace reprise::kernels::cuda {
namespace {

constexpr int64_t kPanelOutputs = kScaleBlockOutputs;  // that a thread fills
constexpr int64_t kPieceBytes = int64_t{64} << 20;     // codes in the host's memory

constexpr int64_t parts(int64_t count, int64_t size) { return (count + size - 1) / size; }

// Packs the codes of an output, one in each byte of `codes`, into `words`, as place_of_quad()
// specifies. `codes` has whole blocks.
void pack(WeightFormat format, std::span<const uint8_t> codes, uint32_t* words) {
  for (size_t input = 0; input < codes.size(); input += kQuadInputs) {
    const QuadPlace place = place_of_quad(format, static_cast<int64_t>(input) / kQuadInputs);
    for (size_t i = 0; i < kQuadInputs; ++i) {
      const size_t shift = format == WeightFormat::kInt8
                               ? 8 * i
                               : static_cast<size_t>(place.shift) + 16 * (i % 2) + 4 * (i / 2);
      words[place.word] |= static_cast<uint32_t>(codes[input + i]) << shift;
    }
  }
}

Buffer on_device(const std::shared_ptr<DeviceRuntime>& runtime, const void* data, size_t bytes) {
  Buffer buffer(runtime, bytes);
  runtime->copy_in(buffer.data(), data, bytes);
  return buffer;
}
template <typename T>
Buffer on_device(const std::shared_ptr<DeviceRuntime>& runtime, const std::vector<T>& values) {
  return on_device(runtime, values.data(), values.size() * sizeof(T));
}

}  // namespace

// Makes codes and scales on the host and copies them to the device.
class CodedWeight::Filler {
 public:
  Filler(CodedWeight& weight, const Weight::FillRows& fill, const Context& context)
      : weight_(weight),
        shape_(weight.codes()),
        numbers_(shape_.format == WeightFormat::kInt4 ? 2 : 1),
        fill_(fill),
        context_(context) {
    scales_.resize(static_cast<size_t>(shape_.rows * shape_.groups() * numbers_));
    rooms_.resize(static_cast<size_t>(std::max(1, context.threads)));
    for (Room& room : rooms_) {
      room.values = AlignedBuffer(static_cast<size_t>(kPanelOutputs * shape_.cols) * sizeof(float));
      room.codes = std::vector<uint8_t>(static_cast<size_t>(shape_.blocks() * kBlockInputs));
    }
  }

  void run() {
    const int64_t row_words = shape_.blocks() * words_of_block(shape_.format);
    const auto row_bytes = static_cast<size_t>(row_words) * sizeof(uint32_t);
    const int64_t panels = parts(shape_.rows, kPanelOutputs);
    const int64_t at_once = std::clamp<int64_t>(
        kPieceBytes / (kPanelOutputs * static_cast<int64_t>(row_bytes)), 1, panels);
    weight_.codes_ = Buffer(weight_.runtime_, static_cast<size_t>(shape_.rows) * row_bytes);
    for (int64_t first = 0; first < panels; first += at_once) {
      const int64_t count = std::min(at_once, panels - first);
      const int64_t first_row = first * kPanelOutputs;
      const int64_t rows = std::min(shape_.rows, (first + count) * kPanelOutputs) - first_row;
      std::vector<uint32_t> words(static_cast<size_t>(rows * row_words));
      parallel_for(context_, count, [&](int64_t panel, int worker) {
        fill_panel(first + panel, rooms_[static_cast<size_t>(worker)],
                   words.data() + panel * kPanelOutputs * row_words, row_words);
      });
      weight_.runtime_->copy_in(weight_.codes_.as<char>() + first_row * row_words * 4, words.data(),
                                static_cast<size_t>(rows) * row_bytes);
    }
    if (shape_.format == WeightFormat::kNf4Double) {
      store_scale_codes();
    } else {
      weight_.scales_ = on_device(weight_.runtime_, scales_);
    }
  }

 private:
  struct Room {
    AlignedBuffer values;        // [64][cols] f32
    std::vector<uint8_t> codes;  // codes of an output, a byte each
  };

  void fill_panel(int64_t panel, Room& room, uint32_t* words, int64_t row_words) {
    const int64_t first = panel * kPanelOutputs;
    const int64_t end = std::min(shape_.rows, first + kPanelOutputs);
    fill_(first, end, room.values.data());
    for (int64_t row = first; row < end; ++row) {
      const std::span values(room.values.as<float>() + (row - first) * shape_.cols,
                             static_cast<size_t>(shape_.cols));
      require_finite(values, row, shape_.format);
      fill_row(row, values, room.codes);
      pack(shape_.format, room.codes, words + (row - first) * row_words);
    }
  }

  void fill_row(int64_t row, std::span<const float> values, std::vector<uint8_t>& codes) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    for (int64_t group = 0; group < shape_.groups(); ++group) {
      const auto first = static_cast<size_t>(group * shape_.group_inputs);
      const auto length = std::min(static_cast<size_t>(shape_.group_inputs), values.size() - first);
      const GroupScale scale =
          quantize_group(shape_.format, values.subspan(first, length), codes.data() + first);
      const auto at = static_cast<size_t>((row * shape_.groups() + group) * numbers_);
      scales_[at] = scale.scale;
      if (numbers_ == 2) scales_[at + 1] = scale.minimum;
    }
  }

  // nf4-double: stores scales as codes. Four groups of 64 outputs share a scale step.
  void store_scale_codes() {
    double sum = 0.0;
    for (const float scale : scales_) sum += static_cast<double>(scale);
    const auto mean = static_cast<float>(sum / static_cast<double>(scales_.size()));
    const int64_t groups = shape_.groups(), blocks = parts(groups, kScaleBlockGroups);
    std::vector<int8_t> codes(scales_.size());
    std::vector<float> steps;
    for (int64_t panel = 0; panel < parts(shape_.rows, kPanelOutputs); ++panel)
      for (int64_t block = 0; block < blocks; ++block)
        steps.push_back(quantize_block(panel, block, mean, codes));
    weight_.scale_mean_ = mean;
    weight_.scale_codes_ = on_device(weight_.runtime_, codes);
    weight_.scale_steps_ = on_device(weight_.runtime_, steps);
  }

  float quantize_block(int64_t panel, int64_t block, float mean, std::vector<int8_t>& codes) {
    const int64_t groups = shape_.groups(), first = block * kScaleBlockGroups;
    const int64_t end = std::min(groups, first + kScaleBlockGroups);
    const int64_t end_row = std::min(shape_.rows, (panel + 1) * kPanelOutputs);
    std::vector<float> scales;
    for (int64_t row = panel * kPanelOutputs; row < end_row; ++row)
      for (int64_t group = first; group < end; ++group)
        scales.push_back(scales_[static_cast<size_t>(row * groups + group)]);
    std::vector<int8_t> of_block(scales.size());
    const float step = quantize_scales(scales, mean, of_block.data());
    const int8_t* code = of_block.data();
    for (int64_t row = panel * kPanelOutputs; row < end_row; ++row)
      for (int64_t group = first; group < end; ++group)
        codes[static_cast<size_t>(row * groups + group)] = *code++;
    return step;
  }

  CodedWeight& weight_;
  DeviceCodes shape_;  // the matrix' sizes; no addresses
  int64_t numbers_;    // numbers of a group: scale, in int4 also minimum
  const Weight::FillRows& fill_;
  const Context& context_;
  std::vector<float> scales_;  // [rows][groups][numbers_]
  std::vector<Room> rooms_;    // [workers]
};

CodedWeight::CodedWeight(int64_t rows, int64_t cols, WeightType type, const Weight::FillRows& fill,
                         const Context& context, Gemm& gemm, std::shared_ptr<ExpandedTile> tile)
    : WeightStore(rows, cols, type, context.device),
      runtime_(context.runtime),
      gemm_(gemm),
      tile_(std::move(tile)) {
  Filler(*this, fill, context).run();
}

size_t CodedWeight::bytes() const {
  return codes_.bytes() + scales_.bytes() + scale_codes_.bytes() + scale_steps_.bytes();
}

DeviceCodes CodedWeight::codes() const {
  return {.format = format(),
          .rows = rows(),
          .cols = cols(),
          .group_inputs = kernels::group_inputs(format(), cols()),
          .codes = static_cast<const uint32_t*>(codes_.data()),
          .scales = static_cast<const float*>(scales_.data()),
          .scale_codes = static_cast<const int8_t*>(scale_codes_.data()),
          .scale_steps = static_cast<const float*>(scale_steps_.data()),
          .scale_mean = scale_mean_};
}

cudaStream_t CodedWeight::stream() const {
  return static_cast<reprise::cuda::CudaDevice&>(*runtime_).stream();
}

void CodedWeight::read_block(int64_t first_row, int64_t end_row, int64_t first_col, int64_t end_col,
                             float* out) const {
  const Scratch<float> expanded(*runtime_, static_cast<size_t>(cols()));
  std::vector<float> row(static_cast<size_t>(cols()));
  for (int64_t r = first_row; r < end_row; ++r) {
    expand_codes(
        {.w = codes(), .first = r, .end = r + 1, .out = expanded.data(), .dtype = DType::kF32},
        stream());
    runtime_->copy_out(row.data(), expanded.data(), row.size() * sizeof(float));
    out = std::copy(row.begin() + first_col, row.begin() + end_col, out);
  }
}

void CodedWeight::apply(const LinearCall& call, int64_t first, int64_t end, LinearWorkspace&,
                        const Context& context) const {
  const CodedProduct product{.w = codes(),
                             .first = first,
                             .end = end,
                             .x = call.x,
                             .input = input_dtype(),
                             .m = call.m,
                             .bias = call.bias,
                             .out = call.out,
                             .out_dtype = call.out_dtype,
                             .accumulate = call.accumulate};
  if (call.m <= coded_rows(format()) && multiplies_codes(product))
    multiply_codes(product, stream());
  else
    expand_and_multiply(product, call, context);
}

void CodedWeight::expand_and_multiply(const CodedProduct& product, const LinearCall& call,
                                      const Context& context) const {
  const DType dtype = input_dtype();
  const int64_t outputs = product.end - product.first;
  const int64_t row_bytes = cols() * static_cast<int64_t>(size_of(dtype));
  // A tile has whole panels of outputs if possible, so that the bias and outputs of every tile are
  // aligned like those of the first tile.
  const int64_t fitting = ExpandedTile::kBytes / row_bytes;
  REPRISE_CHECK(fitting > 0, "a row of {} bytes", row_bytes);
  const int64_t of_tile = std::min(
      outputs, fitting < kPanelOutputs ? fitting : fitting / kPanelOutputs * kPanelOutputs);
  const auto* bias = static_cast<const char*>(bias_.of(call, outputs, context));
  const auto out_size = static_cast<int64_t>(size_of(call.out_dtype));
  for (int64_t at = 0; at < outputs; at += of_tile) {
    const int64_t count = std::min(of_tile, outputs - at);
    expand_codes({.w = product.w,
                  .first = product.first + at,
                  .end = product.first + at + count,
                  .out = tile_->data(),
                  .dtype = dtype},
                 stream());
    gemm_.run({.x = call.x,
               .w = tile_->data(),
               .dtype = dtype,
               .m = call.m,
               .n = count,
               .k = cols(),
               .bias = bias != nullptr ? bias + at * out_size : nullptr,
               .out = static_cast<char*>(call.out) + at * out_size,
               .out_stride = outputs,
               .out_dtype = call.out_dtype,
               .accumulate = call.accumulate});
  }
}

}  // namespace reprise::kernels::cuda
