// The order of work on a device: streams, and events between them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

namespace reprise::cuda {

// A moment in the order of a stream. Move-only. Throws Error where a call of the runtime fails, as
// all that follows here.
class Event {
 public:
  enum class Use : uint8_t {
    kOrder,  // cheapest; knows no time
    kTime    // ms_since() may be asked
  };

  Event() : Event(Use::kOrder) {}
  explicit Event(Use use);
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event();

  // The moment when the stream has done what it was given so far; replaces an earlier one.
  void record(cudaStream_t stream);
  // Of the recorded moment; true and at once where none was recorded.
  [[nodiscard]] bool has_come() const;
  void wait() const;  // of the calling thread
  // Milliseconds on the device's own clock (steps of about 0.5 us). Both events are kTime, recorded
  // and have come.
  [[nodiscard]] double ms_since(const Event& begin) const;

  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Does what it is given in order, beside other streams; it does not wait for the legacy default
// stream. Move-only; destroyed, it still does what it was given.
class Stream {
 public:
  Stream();
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream();

  // Returns when all is done; throws the Error of a kernel that failed.
  void synchronize() const;
  // What this stream is given from now on begins after the event's moment.
  void wait_for(const Event& event) const;

  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace reprise::cuda
