#include "core/device/cuda/staging.h"

#include <algorithm>
#include <cstring>

#include "core/device/cuda/check.h"

namespace reprise::cuda {

Staging::Staging() {
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, kPieces * kPieceBytes, cudaHostAllocDefault), "cudaHostAlloc");
  memory_ = static_cast<std::byte*>(memory);
}

Staging::~Staging() {
  // Waits, because the device may still read the memory. A failure here is ignored: another call
  // reports its cause.
  for (const Event& event : done_) static_cast<void>(cudaEventSynchronize(event.get()));
  static_cast<void>(cudaFreeHost(memory_));
}

void Staging::copy_in(void* to, const void* host, size_t bytes, cudaStream_t stream) {
  for (size_t done = 0; done < bytes; done += kPieceBytes, ++next_) {
    const size_t count = std::min(kPieceBytes, bytes - done);
    event(next_).wait();
    std::memcpy(piece(next_), static_cast<const std::byte*>(host) + done, count);
    check_cuda(cudaMemcpyAsync(static_cast<std::byte*>(to) + done, piece(next_), count,
                               cudaMemcpyHostToDevice, stream),
               "cudaMemcpyAsync to the device");
    event(next_).record(stream);
  }
}

void Staging::copy_out(void* host, const void* from, size_t bytes, cudaStream_t stream) {
  const auto bytes_of = [&](size_t index) {
    return std::min(kPieceBytes, bytes - index * kPieceBytes);
  };
  const size_t pieces = (bytes + kPieceBytes - 1) / kPieceBytes;
  const auto take = [&](size_t index) {
    event(next_ + index).wait();
    std::memcpy(static_cast<std::byte*>(host) + index * kPieceBytes, piece(next_ + index),
                bytes_of(index));
  };
  for (size_t index = 0; index < pieces; ++index) {
    if (index >= kPieces) take(index - kPieces);  // empty the piece before reusing it
    event(next_ + index).wait();
    check_cuda(cudaMemcpyAsync(piece(next_ + index),
                               static_cast<const std::byte*>(from) + index * kPieceBytes,
                               bytes_of(index), cudaMemcpyDeviceToHost, stream),
               "cudaMemcpyAsync from the device");
    event(next_ + index).record(stream);
  }
  for (size_t index = pieces > kPieces ? pieces - kPieces : 0; index < pieces; ++index) take(index);
  next_ += pieces;
}

}  // namespace reprise::cuda
