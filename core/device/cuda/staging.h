// Copies between host and device by way of page-locked memory.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

#include "core/device/cuda/stream.h"

namespace reprise::cuda {

// A ring of page-locked pieces: a copy takes the next ones, and waits where the device has not yet
// read what one held before. Only from page-locked memory does the device copy beside the host's
// work, and at the bus's full rate.
class Staging {
 public:
  Staging();
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // In the order of the stream; the host's bytes may be changed when the call returns.
  void copy_in(void* to, const void* host, size_t bytes, cudaStream_t stream);

  // In the order of the stream; the host has the bytes when the call returns.
  void copy_out(void* host, const void* from, size_t bytes, cudaStream_t stream);

  // Small copies of a step (tokens, positions, slots) are some ten: they all fit at once.
  static constexpr size_t kPieces = 32;
  static constexpr size_t kPieceBytes = 512 << 10;

 private:
  std::byte* piece(size_t index) { return memory_ + index % kPieces * kPieceBytes; }
  Event& event(size_t index) { return done_[index % kPieces]; }

  std::byte* memory_ = nullptr;
  std::array<Event, kPieces> done_;  // the copy of a piece
  size_t next_ = 0;
};

}  // namespace reprise::cuda
