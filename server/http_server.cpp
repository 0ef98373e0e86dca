#include "server/http_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "server/http_front.h"

namespace reprise::server {
namespace {

constexpr int kBacklog = 1024;
// Of an answer that the other end does not read: the system would keep megabytes by itself.
constexpr int kSendBufferBytes = 64 << 10;

class Socket {
 public:
  explicit Socket(int number) : number_(number) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

struct Addresses {
  addrinfo* first = nullptr;
  ~Addresses() {
    if (first != nullptr) ::freeaddrinfo(first);
  }
};

int listening_socket(const std::string& host, int port) {
  const std::string where = fmt::format("{}:{}", host, port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  Addresses found;
  if (const int code =
          ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found.first))
    raise("cannot listen on {}: {}. Give an address of this machine, such as 127.0.0.1", where,
          ::gai_strerror(code));
  const addrinfo& address = *found.first;
  Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (socket.number() < 0 ||
      ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
      ::bind(socket.number(), address.ai_addr, address.ai_addrlen) < 0 ||
      ::listen(socket.number(), kBacklog) < 0)
    raise("cannot listen on {}: {}. Choose another --port, or another --host", where,
          std::strerror(errno));
  return socket.release();
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  REPRISE_CHECK(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const in_port_t port = address.ss_family == AF_INET6
                             ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                             : reinterpret_cast<const sockaddr_in*>(&address)->sin_port;
  return ntohs(port);
}

}  // namespace

struct HttpServer::State {
  struct Client {
    Socket socket;
    std::atomic<bool> is_busy = false, is_done = false;
    std::thread thread;

    explicit Client(int number) : socket(number) {}
  };

  const HttpLimits limits;
  Metrics& metrics;
  HttpFront front;
  const Socket listener;
  const Socket wake{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};  // a client is done, or it is time
  const int port;
  std::atomic<bool> is_closing = false;
  std::mutex mutex;
  std::list<Client> clients;  // guarded by mutex
  std::thread acceptor;

  State(const std::string& host, int wanted_port, const HttpLimits& l, HttpHandler handler,
        Metrics& m)
      : limits(l),
        metrics(m),
        front(l, std::move(handler), m),
        listener(listening_socket(host, wanted_port)),
        port(port_of(listener.number())) {
    REPRISE_CHECK(wake.number() >= 0, "eventfd: {}", std::strerror(errno));
    acceptor = std::thread([this] { accept_all(); });
  }

  void poke() const { (void)eventfd_write(wake.number(), 1); }

  void accept_all() {
    while (!is_closing) {
      std::array<pollfd, 2> wanted = {{{listener.number(), POLLIN, 0}, {wake.number(), POLLIN, 0}}};
      if (::poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR) break;
      eventfd_t count = 0;
      (void)eventfd_read(wake.number(), &count);
      drop_done();
      if (wanted[0].revents != 0) (void)accept_one();
    }
    // Who came before the end is told of it. Who is told and comes again is not waited for: there
    // may be always one more.
    for (int waiting = waiting_connections(); waiting > 0 && accept_one(); --waiting) drop_done();
    ::shutdown(listener.number(), SHUT_RDWR);
  }

  // Connections that the system has accepted and we have not.
  [[nodiscard]] int waiting_connections() const {
    tcp_info info{};
    socklen_t size = sizeof info;
    const bool is_known = ::getsockopt(listener.number(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
    return is_known ? static_cast<int>(info.tcpi_unacked) : kBacklog;
  }

  // False: nobody waits.
  bool accept_one() {
    const int number = ::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC);
    if (number < 0) {
      // Out of descriptors or memory, for now: the connection stays in the queue.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return false;
    }
    const int yes = 1;
    (void)::setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)::setsockopt(number, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
    const std::scoped_lock lock(mutex);
    if (std::ssize(clients) >= limits.most_connections) {
      const Socket refused(number);
      metrics.answer(503);
      HttpFront::turn_away(number);
      return true;
    }
    Client& client = clients.emplace_back(number);
    metrics.connections(std::ssize(clients));
    start(client);
    return true;
  }

  // Called with the lock.
  void start(Client& client) {
    try {
      client.thread = std::thread([this, &client] {
        front.serve(client.socket.number(), client.is_busy, is_closing);
        // The other end learns of it now; the number is free once the thread was joined.
        ::shutdown(client.socket.number(), SHUT_RDWR);
        client.is_done = true;
        poke();
      });
    } catch (const std::system_error&) {  // no more threads
      HttpFront::turn_away(client.socket.number());
      client.is_done = true;
    }
  }

  void drop_done() {
    const std::scoped_lock lock(mutex);
    for (auto client = clients.begin(); client != clients.end();) {
      if (!client->is_done) {
        ++client;
        continue;
      }
      if (client->thread.joinable()) client->thread.join();
      client = clients.erase(client);
    }
    metrics.connections(std::ssize(clients));
  }

  // Ends the connections that wait for a request, or all: a request that has arrived is answered
  // first. False: none is left.
  bool cut_off(bool busy_ones_too) {
    drop_done();
    const std::scoped_lock lock(mutex);
    for (const Client& client : clients) {
      if (busy_ones_too)
        ::shutdown(client.socket.number(), SHUT_RDWR);
      else if (!client.is_busy)
        ::shutdown(client.socket.number(), SHUT_RD);
    }
    return !clients.empty();
  }

  void close(std::chrono::milliseconds most) {
    if (is_closing.exchange(true)) return;
    poke();
    acceptor.join();
    const auto until = std::chrono::steady_clock::now() + most;
    constexpr std::chrono::milliseconds kLook{5};
    while (cut_off(std::chrono::steady_clock::now() >= until)) std::this_thread::sleep_for(kLook);
  }
};

HttpServer::HttpServer(const std::string& host, int port, const HttpLimits& limits,
                       HttpHandler handler, Metrics& metrics)
    : state_(std::make_unique<State>(host, port, limits, std::move(handler), metrics)) {}
HttpServer::~HttpServer() { state_->close(std::chrono::milliseconds(0)); }

int HttpServer::port() const { return state_->port; }
void HttpServer::close(std::chrono::milliseconds most) { state_->close(most); }

}  // namespace reprise::server
