#include "server/worker.h"

#include "server/api_error.h"

namespace reprise::server {

void Worker::check_room(bool refuses_new, int64_t held, int64_t asked, int64_t most) {
  if (refuses_new)
    throw ApiError(503, "the server is shutting down and takes no more requests", "",
                   "shutting_down");
  if (held + asked > most)
    throw ApiError(429,
                   fmt::format("the server holds {} requests, at most {} at once, and this asks "
                               "for {}: try again later",
                               held, most, asked),
                   "", "queue_full");
}

}  // namespace reprise::server
