// The order of work on a device: streams, and events between them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

namespace reprise::cuda {

// A point in the order of a stream. Move-only. All classes here throw Error if a CUDA call fails.
class Event {
 public:
  enum class Use : uint8_t {
    kOrder,  // for ordering work; cheapest
    kTime    // ms_since() may be called
  };

  Event() : Event(Use::kOrder) {}
  explicit Event(Use use);
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();

  // Records the point after all work that `stream` was given so far, in place of the point of an
  // earlier record().
  void record(cudaStream_t stream);
  // True if the stream has passed the recorded point, or none was recorded. Does not wait.
  [[nodiscard]] bool has_come() const;
  void wait() const;  // blocks the calling thread until has_come()
  // Milliseconds from `begin` to this event on the device's clock (steps of about 0.5 us). Both
  // events must be kTime, recorded and passed.
  [[nodiscard]] double ms_since(const Event& begin) const;

  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// A queue of device work. Its work is done in order, concurrently with other streams, and does not
// wait for the legacy default stream. Move-only. Work given before destruction is still done.
class Stream {
 public:
  Stream();
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream();

  // Waits until all work is done; throws Error if a kernel failed.
  void synchronize() const;
  // Work given to this stream from now on begins after the event.
  void wait_for(const Event& event) const;

  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace reprise::cuda
