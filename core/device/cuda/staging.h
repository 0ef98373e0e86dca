// Copies between host and device through page-locked memory.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

#include "core/device/cuda/stream.h"

namespace reprise::cuda {

// A ring of page-locked pieces of host memory. A copy takes the next pieces of the ring. Before it
// uses a piece, it waits until the piece's earlier copy is done. Only page-locked memory lets the
// device copy at the bus's full rate and while the host goes on working.
class Staging {
 public:
  Staging();
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Copies in the order of the stream; the host's bytes may be changed when the call returns.
  void copy_in(void* to, const void* host, size_t bytes, cudaStream_t stream);

  // Copies in the order of the stream and waits: the host has the bytes when the call returns.
  void copy_out(void* host, const void* from, size_t bytes, cudaStream_t stream);

  // A step makes about ten small copies (tokens, positions, row slots), which fit into the ring
  // together.
  static constexpr size_t kPieces = 32;
  static constexpr size_t kPieceBytes = 512 << 10;

 private:
  std::byte* piece(size_t index) { return memory_ + index % kPieces * kPieceBytes; }
  Event& event(size_t index) { return done_[index % kPieces]; }

  std::byte* memory_ = nullptr;
  std::array<Event, kPieces> done_;  // event i: the last copy of piece i is done
  size_t next_ = 0;
};

}  // namespace reprise::cuda
