#include "core/device/cuda/stream.h"

#include "core/device/cuda/check.h"

namespace reprise::cuda {

Event::Event(Use use) {
  const unsigned flags = use == Use::kTime ? cudaEventDefault : cudaEventDisableTiming;
  check_cuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags");
}

Event::~Event() {
  // A failure here is ignored: another call reports its cause.
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
}

void Event::record(cudaStream_t stream) {
  check_cuda(cudaEventRecord(event_, stream), "cudaEventRecord");
}

bool Event::has_come() const {
  const cudaError_t code = cudaEventQuery(event_);
  if (code == cudaErrorNotReady) return false;
  check_cuda(code, "cudaEventQuery");
  return true;
}

void Event::wait() const { check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

double Event::ms_since(const Event& begin) const {
  float ms = 0.0f;
  check_cuda(cudaEventElapsedTime(&ms, begin.event_, event_), "cudaEventElapsedTime");
  return static_cast<double>(ms);
}

Stream::Stream() {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
             "cudaStreamCreateWithFlags");
}

Stream::~Stream() {
  if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
}

void Stream::synchronize() const {
  check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

void Stream::wait_for(const Event& event) const {
  check_cuda(cudaStreamWaitEvent(stream_, event.get(), 0), "cudaStreamWaitEvent");
}

}  // namespace reprise::cuda
