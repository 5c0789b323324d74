// Whoever is refused where others can reach us is written down with the reason, and does no harm:
// the next member of the job is served.
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/net/job_listener.h"
#include "runtime/net/tls.h"
#include "test/unit/runtime/net/eavesdropper.h"
#include "test/unit/runtime/net/loopback.h"
#include "test/unit/runtime/net/outer_address.h"
#include "test/unit/runtime/net/tls_stranger.h"

using namespace scavenger;

namespace {

// What this process writes to standard error, which is where its log goes, while this lives.
class HeardLog final {
 public:
  HeardLog() : before_(::dup(STDERR_FILENO)), file_(::memfd_create("log", MFD_CLOEXEC)) {
    REQUIRE(::dup2(file_.get(), STDERR_FILENO) >= 0);
    start_log("net_test", LogLevel::kInfo);
  }
  ~HeardLog() { ::dup2(before_.get(), STDERR_FILENO); }
  HeardLog(const HeardLog&) = delete;
  HeardLog& operator=(const HeardLog&) = delete;

  // Since the last call.
  std::string text() {
    std::string text(1 << 16, '\0');
    const auto size = ::pread(file_.get(), text.data(), text.size(), read_);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    read_ += static_cast<off_t>(text.size());
    return text;
  }

 private:
  FileDescriptor before_, file_;
  off_t read_ = 0;
};

awaitable<void> answer_all(std::shared_ptr<FrameConnection> connection) {
  for (;;) {
    const FrameHeader header = co_await connection->receive_header(0);
    connection->post(header, {});
  }
}

awaitable<void> ask_once(Endpoint endpoint, JobCredentials job, bool& answered) {
  JobSocket socket = co_await connect_authenticated(endpoint, job, 20.0);
  auto connection = std::make_shared<FrameConnection>(std::move(socket), SIZE_MAX);
  connection->post({.iteration = 7}, {});
  const FrameHeader header = co_await connection->receive_header(0);
  answered = header.iteration == 7;
}

// Says these bytes in clear, and waits for the end.
awaitable<void> say(tcp::endpoint server, std::vector<std::byte> bytes) {
  tcp::socket socket(co_await asio::this_coro::executor);
  try {
    co_await socket.async_connect(server, use_awaitable);
    co_await asio::async_write(socket, asio::buffer(bytes), use_awaitable);
    std::vector<std::byte> answer;
    co_await asio::async_read(socket, asio::dynamic_buffer(answer), use_awaitable);
  } catch (const boost::system::system_error&) {
  }
}

awaitable<void> say_hello(tcp::endpoint server, JobCredentials job, std::size_t place) {
  const auto hello = make_hello(job, fresh_nonce());
  TlsStranger stranger{.identity = tls_identity(job), .key = tls_key(job), .says = {}};
  stranger.says.assign(hello.begin(), hello.end());
  stranger.says[place] ^= std::byte{3};
  co_await stranger.visit(server);
}

awaitable<void> visit(tcp::endpoint server, TlsStranger stranger) {
  co_await stranger.visit(server);
}

std::vector<std::byte> clear_hello(const JobCredentials& job) {
  const auto hello = make_hello(job, fresh_nonce());
  return {hello.begin(), hello.end()};
}

}  // namespace

TEST_CASE("replay, downgrade, wrong key, job and version are refused, logged and harmless") {
  REQUIRE_OUTER_ADDRESS(address);
  const JobCredentials job = JobCredentials::generate();
  const JobCredentials other = JobCredentials::generate();
  OverheardConversation talk(address, job);
  talk.client_sends("one step with this gradient, please");
  HeardLog log;
  asio::io_context io;
  JobListener listener(io, {address, 0}, job, SIZE_MAX, answer_all);
  const tcp::endpoint door(asio::ip::make_address(address), listener.port());
  const auto tls = [&](const std::string& identity, const Digest& key, int newest = 0x0304) {
    return visit(door, {.identity = identity, .key = key, .newest_version = newest, .says = {}});
  };

  std::string newer = tls_identity(job);
  newer[newer.find('1')] = '2';  // "scavenger 1 ..."

  struct Refusal {
    std::string name;
    std::function<awaitable<void>()> come;
    std::string reason;
  };
  const Refusal refusals[] = {
      {"replay", [&] { return say(door, talk.overheard()); }, "does not show that it knows"},
      {"downgrade to clear", [&] { return say(door, clear_hello(job)); },
       "does not show that it knows"},
      {"downgrade to TLS 1.2", [&] { return tls(tls_identity(job), tls_key(job), 0x0303); },
       "unsupported protocol"},
      {"wrong key", [&] { return tls(tls_identity(job), tls_key(other)); },
       "does not show that it knows"},
      {"wrong job", [&] { return tls(tls_identity(other), tls_key(other)); }, "another job"},
      {"wrong job in the hello", [&] { return say_hello(door, job, 12); }, "another job"},
      {"wrong version", [&] { return tls(newer, tls_key(job)); }, "protocol version 2"},
      {"wrong version in the hello", [&] { return say_hello(door, job, 8); },
       "protocol version 2"}};
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.name);
    log.text();
    run_all(io, refusal.come());
    bool answered = false;
    run_all(io, ask_once({address, listener.port()}, job, answered));

    const std::string written = log.text();
    CHECK_THAT(written, Catch::Contains("the connection of " + address) &&
                            Catch::Contains("warning") && Catch::Contains(refusal.reason));
    CHECK(answered);
  }
}
