#include "core/kernels/linear/cpu/coded_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/kernels/linear/cpu/panel_rows.h"
#include "core/kernels/linear/quantize.h"

namespace reprise::kernels::cpu {
namespace {

constexpr int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
constexpr int64_t kUnitInputs = kStepInputs * kUnitSteps;

size_t step_bytes(WeightFormat format) {
  return static_cast<size_t>(kStepInputs * kPanelOutputs) / (format == WeightFormat::kInt8 ? 1 : 2);
}

// Returns the four-bit codes of eight inputs of one output as a word, in the layout that
// QuantizedPanel describes.
uint32_t packed(const uint8_t* codes) {
  uint32_t word = 0;
  for (int i = 0; i < kStepInputs; ++i)
    word |= static_cast<uint32_t>(codes[i]) << (16 * (i % 2) + 4 * (i / 2));
  return word;
}

// Returns the code of a panel at (step, input within the step, output).
int code_at(const QuantizedPanel& panel, int64_t step, int input, int64_t output) {
  if (panel.format == WeightFormat::kInt8)
    return static_cast<const int8_t*>(
        panel.codes)[(step * kStepInputs + input) * kPanelOutputs + output];
  const uint32_t word = static_cast<const uint32_t*>(panel.codes)[step * kPanelOutputs + output];
  return static_cast<int>((word >> (16 * (input % 2) + 4 * (input / 2))) & 15u);
}

float scale_at(const QuantizedPanel& panel, int64_t group, int64_t output) {
  const int64_t at = group * kPanelOutputs + output;
  if (panel.scales != nullptr) return panel.scales[at];
  return std::fma(static_cast<float>(panel.scale_codes[at]),
                  panel.scale_steps[group / kScaleBlockGroups], panel.scale_mean);
}

}  // namespace

// Fills the panels with codes. Each thread has its own buffers.
class CodedMatrix::Filler {
 public:
  Filler(CodedMatrix& matrix, const Weight::FillRows& fill, const Context& context)
      : matrix_(matrix), fill_(fill), rooms_(static_cast<size_t>(std::max(1, context.threads))) {
    const auto inputs = static_cast<size_t>(matrix.steps_ * kStepInputs);
    for (Room& room : rooms_) {
      room.values =
          AlignedBuffer(static_cast<size_t>(kPanelOutputs * matrix.cols_) * sizeof(float));
      room.codes = AlignedBuffer(static_cast<size_t>(kPanelOutputs) * inputs);
    }
  }

  void fill_panel(int64_t index, int worker) {
    Room& room = rooms_[static_cast<size_t>(worker)];
    const int64_t first = index * kPanelOutputs;
    const int64_t end = std::min(matrix_.rows_, first + kPanelOutputs);
    const int64_t inputs = matrix_.steps_ * kStepInputs;
    fill_(first, end, room.values.data());
    auto* codes = room.codes.as<uint8_t>();
    std::memset(codes, 0, room.codes.bytes());
    for (int64_t row = first; row < end; ++row) {
      const std::span values(room.values.as<float>() + (row - first) * matrix_.cols_,
                             static_cast<size_t>(matrix_.cols_));
      require_finite(values, row, matrix_.format_);
      fill_row(index, row - first, values, codes + (row - first) * inputs);
    }
    pack(codes, static_cast<char*>(matrix_.codes_.data()) +
                    static_cast<size_t>(index * matrix_.steps_) * step_bytes(matrix_.format_));
  }

 private:
  struct Room {
    AlignedBuffer values;  // [64][cols] f32
    AlignedBuffer codes;   // [64][8 steps], a byte each
  };

  void fill_row(int64_t index, int64_t output, std::span<const float> values, uint8_t* codes) {
    const int64_t group_length = matrix_.group_steps_ * kStepInputs;
    for (int64_t group = 0; group < matrix_.groups_; ++group) {
      const auto first = static_cast<size_t>(group * group_length);
      const auto length = std::min(static_cast<size_t>(group_length), values.size() - first);
      const GroupScale scale =
          quantize_group(matrix_.format_, values.subspan(first, length), codes + first);
      const int64_t at = (index * matrix_.groups_ + group) * kPanelOutputs + output;
      static_cast<float*>(matrix_.scales_.data())[at] = scale.scale;
      if (!matrix_.minimums_.empty())
        static_cast<float*>(matrix_.minimums_.data())[at] = scale.minimum;
    }
  }

  // Packs one cache line of each output at a time, because rows may be a power of two apart, and
  // the lines of many such rows would evict each other from a cache.
  void pack(const uint8_t* codes, void* panel) const {
    constexpr int64_t kLineSteps = 64 / kStepInputs;
    for (int64_t first = 0; first < matrix_.steps_; first += kLineSteps)
      for (int64_t output = 0; output < kPanelOutputs; ++output)
        pack_steps(codes + output * matrix_.inputs(), output, first,
                   std::min(first + kLineSteps, matrix_.steps_), panel);
  }

  // Packs steps [first, end) of one output.
  void pack_steps(const uint8_t* codes, int64_t output, int64_t first, int64_t end,
                  void* panel) const {
    if (matrix_.format_ == WeightFormat::kInt8) {
      auto* bytes = static_cast<uint8_t*>(panel) + output;
      for (int64_t input = first * kStepInputs; input < end * kStepInputs; ++input)
        bytes[input * kPanelOutputs] = codes[input];
      return;
    }
    auto* words = static_cast<uint32_t*>(panel) + output;
    for (int64_t step = first; step < end; ++step)
      words[step * kPanelOutputs] = packed(codes + step * kStepInputs);
  }

  CodedMatrix& matrix_;
  const Weight::FillRows& fill_;
  std::vector<Room> rooms_;
};

CodedMatrix::CodedMatrix(int64_t rows, int64_t cols, WeightFormat format,
                         const Weight::FillRows& fill, const Context& context)
    : rows_(rows), cols_(cols), format_(format), steps_(round_up(cols, kUnitInputs) / kStepInputs) {
  const int64_t group = kernels::group_inputs(format, cols);
  group_steps_ = group == cols ? steps_ : group / kStepInputs;
  groups_ = (steps_ + group_steps_ - 1) / group_steps_;
  static_assert(kPanelOutputs == kScaleBlockOutputs);
  scale_blocks_ = (groups_ + kScaleBlockGroups - 1) / kScaleBlockGroups;
  const auto num_panels = static_cast<size_t>(panels());
  const size_t scale_bytes =
      num_panels * static_cast<size_t>(groups_ * kPanelOutputs) * sizeof(float);
  codes_ = Buffer(context.runtime, num_panels * static_cast<size_t>(steps_) * step_bytes(format));
  scales_ = Buffer(context.runtime, scale_bytes);
  if (format == WeightFormat::kInt4) minimums_ = Buffer(context.runtime, scale_bytes);
  Filler filler(*this, fill, context);
  parallel_for(context, panels(),
               [&](int64_t index, int worker) { filler.fill_panel(index, worker); });
  if (format == WeightFormat::kNf4Double) quantize_scales(context);
}

float CodedMatrix::mean_scale() const {
  const auto* scales = static_cast<const float*>(scales_.data());
  double sum = 0.0;
  for (int64_t row = 0; row < rows_; ++row)
    for (int64_t group = 0; group < groups_; ++group)
      sum += static_cast<double>(
          scales[(row / kPanelOutputs * groups_ + group) * kPanelOutputs + row % kPanelOutputs]);
  return static_cast<float>(sum / static_cast<double>(rows_ * groups_));
}

void CodedMatrix::quantize_scales(const Context& context) {
  const auto* scales = static_cast<const float*>(scales_.data());
  const auto of_panel = static_cast<size_t>(groups_ * kPanelOutputs);
  scale_mean_ = mean_scale();
  scale_codes_ = Buffer(context.runtime, static_cast<size_t>(panels()) * of_panel);
  scale_steps_ =
      Buffer(context.runtime, static_cast<size_t>(panels() * scale_blocks_) * sizeof(float));
  auto* codes = static_cast<int8_t*>(scale_codes_.data());
  auto* steps = static_cast<float*>(scale_steps_.data());
  std::vector<float> block;
  for (int64_t index = 0; index < panels(); ++index)
    for (int64_t b = 0; b < scale_blocks_; ++b) {
      const auto first = static_cast<size_t>(b * kScaleBlockGroups * kPanelOutputs);
      const size_t count =
          std::min(static_cast<size_t>(kScaleBlockGroups * kPanelOutputs), of_panel - first);
      const size_t at = static_cast<size_t>(index) * of_panel + first;
      block.assign(scales + at, scales + at + count);
      // Padding outputs get the mean as their scale, because zeros would make the block's scale
      // step larger.
      const int64_t wanted = std::min(kPanelOutputs, rows_ - index * kPanelOutputs);
      for (size_t i = 0; i < count; ++i)
        if (static_cast<int64_t>(i) % kPanelOutputs >= wanted) block[i] = scale_mean_;
      steps[index * scale_blocks_ + b] = kernels::quantize_scales(block, scale_mean_, codes + at);
    }
  scales_ = Buffer();
}

int64_t CodedMatrix::panels() const { return (rows_ + kPanelOutputs - 1) / kPanelOutputs; }

size_t CodedMatrix::bytes() const {
  return codes_.bytes() + scales_.bytes() + minimums_.bytes() + scale_codes_.bytes() +
         scale_steps_.bytes();
}

QuantizedPanel CodedMatrix::panel(int64_t index) const {
  const int64_t scale = index * groups_ * kPanelOutputs;
  const auto floats = [](const Buffer& buffer, int64_t at) {
    return buffer.empty() ? nullptr : static_cast<const float*>(buffer.data()) + at;
  };
  return {.format = format_,
          .steps = steps_,
          .group_steps = group_steps_,
          .codes = static_cast<const char*>(codes_.data()) +
                   static_cast<size_t>(index * steps_) * step_bytes(format_),
          .scales = floats(scales_, scale),
          .minimums = floats(minimums_, scale),
          .scale_codes = scale_codes_.empty()
                             ? nullptr
                             : static_cast<const int8_t*>(scale_codes_.data()) + scale,
          .scale_steps = floats(scale_steps_, index * scale_blocks_),
          .scale_mean = scale_mean_};
}

float CodedMatrix::value_at(int64_t row, int64_t col) const {
  const QuantizedPanel of_row = panel(row / kPanelOutputs);
  const int64_t step = col / kStepInputs, output = row % kPanelOutputs;
  const int64_t group = step / group_steps_;
  const int code = code_at(of_row, step, static_cast<int>(col % kStepInputs), output);
  const float number = format_ == WeightFormat::kInt8
                           ? static_cast<float>(code)
                           : code_values(format_)[static_cast<size_t>(code)];
  const float minimum =
      of_row.minimums != nullptr ? of_row.minimums[group * kPanelOutputs + output] : 0.0f;
  return std::fma(scale_at(of_row, group, output), number, minimum);
}

}  // namespace reprise::kernels::cpu
