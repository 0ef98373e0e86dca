// Dense row-major tensors: Tensor owns its memory, TensorView does not. Both know their dtype,
// shape and device.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/device/buffer.h"
#include "core/device/device.h"

namespace reprise {

// Up to four extents, outermost first.
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) {
    REPRISE_CHECK(extents.size() <= kMaxRank);
    for (int64_t extent : extents) extents_[static_cast<size_t>(rank_++)] = extent;
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int64_t operator[](int i) const { return extents_[static_cast<size_t>(i)]; }
  [[nodiscard]] int64_t elements() const {
    int64_t product = 1;
    for (int i = 0; i < rank_; ++i) product *= (*this)[i];
    return product;
  }
  bool operator==(const Shape&) const = default;
  [[nodiscard]] std::string to_string() const {
    std::string text = "[";
    for (int i = 0; i < rank_; ++i) text += (i == 0 ? "" : ", ") + std::to_string((*this)[i]);
    return text + "]";
  }

 private:
  std::array<int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

// A view of a contiguous tensor that somebody else owns; passed by value.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;
  Device device = Device::kCpu;

  template <typename T>
  [[nodiscard]] T* as() const {
    REPRISE_CHECK(dtype_of<std::remove_const_t<T>> == dtype, "tensor holds {}", name_of(dtype));
    return static_cast<T*>(data);
  }
  [[nodiscard]] int64_t elements() const { return shape.elements(); }
  [[nodiscard]] size_t bytes() const { return static_cast<size_t>(elements()) * size_of(dtype); }
};

// Owns a tensor. Zero-filled and move-only; copies are made by copy_to().
class Tensor {
 public:
  Tensor() = default;
  // Allocates zeros in the memory of the runtime's device, or of the CPU if `runtime` is null.
  Tensor(DType dtype, Shape shape, std::shared_ptr<DeviceRuntime> runtime = nullptr)
      : buffer_(std::move(runtime), static_cast<size_t>(shape.elements()) * size_of(dtype)),
        dtype_(dtype),
        shape_(shape) {}

  // Returns a copy in the memory of the runtime's device. This tensor must be on the CPU.
  [[nodiscard]] Tensor copy_to(const std::shared_ptr<DeviceRuntime>& runtime) const {
    REPRISE_CHECK(device() == Device::kCpu && runtime != nullptr);
    if (empty()) return {};
    Tensor copy(dtype_, shape_, runtime);
    runtime->copy_in(copy.data(), data(), bytes());
    return copy;
  }

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] int64_t elements() const { return buffer_.empty() ? 0 : shape_.elements(); }
  [[nodiscard]] bool empty() const { return buffer_.empty(); }
  [[nodiscard]] size_t bytes() const { return buffer_.bytes(); }
  [[nodiscard]] Device device() const { return buffer_.device(); }
  [[nodiscard]] void* data() { return buffer_.data(); }
  [[nodiscard]] const void* data() const { return buffer_.data(); }
  [[nodiscard]] TensorView view() const {
    return {const_cast<void*>(buffer_.data()), dtype_, shape_, buffer_.device()};
  }
  template <typename T>
  [[nodiscard]] T* as() {
    return view().as<T>();
  }
  template <typename T>
  [[nodiscard]] const T* as() const {
    return view().as<const T>();
  }

 private:
  Buffer buffer_;
  DType dtype_ = DType::kF32;
  Shape shape_;
};

}  // namespace reprise
