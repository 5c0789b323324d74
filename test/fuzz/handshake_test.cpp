// What strangers can say before anybody knows them: frame headers, handshakes, launch tickets.
#include "runtime/net/handshake.h"

#include <algorithm>

#include "runtime/net/authentication.h"
#include "runtime/net/frame.h"
#include "runtime/process/launch_ticket.h"
#include "test/fuzz/fuzz.h"

using namespace scavenger;

namespace {

template <std::size_t size>
std::string text_of(const std::array<std::byte, size>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

// Damaged inputs of a decoder that takes a fixed size.
template <std::size_t size>
class Sized final {
 public:
  explicit Sized(std::vector<std::string> originals) : mutations_(41, std::move(originals)) {}
  std::string operator()() {
    std::string input = mutations_.next();
    input.resize(size);
    return input;
  }

 private:
  Mutations mutations_;
};

template <std::size_t size>
std::span<const std::byte, size> fixed(const std::string& input) {
  return std::span<const std::byte, size>(bytes_of(input));
}

// A client of ours that nobody knows says `words`, and leaves or waits.
class Door final {
 public:
  // Whether the server lets it in.
  bool let_in(const std::string& words, const JobCredentials& job) {
    tcp::socket stranger(io_), door(io_);
    stranger.connect(acceptor_.local_endpoint());
    acceptor_.accept(door);
    stranger.set_option(asio::socket_base::linger(true, 0));  // leaves no trace in the kernel
    bool admitted = false, refused = false;
    asio::co_spawn(io_, authenticate(std::move(door), job), [&](std::exception_ptr failure) {
      refused = failure != nullptr;
      admitted = !refused;
      if (!failure) return;
      try {
        std::rethrow_exception(failure);
      } catch (const ConnectionError&) {
      }
    });
    asio::write(stranger, asio::buffer(words));
    stranger.shutdown(tcp::socket::shutdown_send);
    io_.restart();
    while (!admitted && !refused) io_.run_one();
    return admitted;
  }

 private:
  static awaitable<void> authenticate(tcp::socket door, JobCredentials job) {
    JobSocket socket(std::move(door));
    co_await authenticate_client(socket, job, 100.0);
  }

  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
};

LaunchTicket sample_ticket() {
  LaunchTicket ticket;
  ticket.role = Role::kShard;
  ticket.index = 3;
  ticket.credentials = JobCredentials::generate();
  ticket.controller = {"127.0.0.1", 40123};
  ticket.parent_pid = 1234;
  ticket.threads = 5;
  ticket.listen_host = "10.0.0.7";
  ticket.config = "{\"name\": \"a job\",\n \"seed\": 7}";
  return ticket;
}

}  // namespace

TEST_CASE("fuzz: a damaged frame header is refused, or it is another good one within the limit") {
  constexpr std::uint32_t kLimitBytes = 1 << 18;
  std::vector<std::string> headers;
  for (std::uint16_t type = 1; type <= 6; ++type)
    headers.push_back(text_of(encode(FrameHeader{.type = static_cast<FrameType>(type),
                                                 .membership_epoch = 3,
                                                 .chunk = 7,
                                                 .iteration = 2,
                                                 .rank = 1,
                                                 .payload_bytes = 4096,
                                                 .local_sqr_norm = 1.5})));

  const Verdicts verdicts =
      fuzz<ProtocolError>(Sized<kFrameHeaderBytes>(headers), [](const std::string& input) {
        const auto bytes = fixed<kFrameHeaderBytes>(input);
        const FrameHeader header = decode_frame_header(bytes, kLimitBytes);
        require_consistent(header.payload_bytes <= kLimitBytes);
        require_consistent(std::ranges::equal(encode(header), bytes));
      });

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: of damaged greetings only those are taken that a member could have sent") {
  const JobCredentials job = JobCredentials::generate();
  const Nonce ours = fresh_nonce(), theirs = fresh_nonce();

  const Verdicts hellos = fuzz<ProtocolError>(
      Sized<kHelloBytes>({text_of(make_hello(job, theirs))}), [&](const std::string& input) {
        const Nonce nonce = check_hello(fixed<kHelloBytes>(input), job);
        require_consistent(text_of(make_hello(job, nonce)) == input);
      });
  const Verdicts challenges = fuzz<ProtocolError>(
      Sized<kChallengeBytes>({text_of(make_challenge(job, ours, theirs))}),
      [&](const std::string& input) {
        const Nonce nonce = check_challenge(fixed<kChallengeBytes>(input), job, ours);
        require_consistent(text_of(make_challenge(job, ours, nonce)) == input);
      });
  const Verdicts proofs = fuzz<ProtocolError>(
      Sized<kProofBytes>({text_of(make_proof(job, theirs, ours))}), [&](const std::string& input) {
        check_proof(fixed<kProofBytes>(input), job, theirs, ours);
        require_consistent(text_of(make_proof(job, theirs, ours)) == input);
      });

  CHECK(hellos.accepted > 0);  // with another nonce
  // Damage that cuts off what was too long leaves them whole.
  CHECK(challenges.refused > 10 * challenges.accepted);
  CHECK(proofs.refused > 10 * proofs.accepted);
}

TEST_CASE("fuzz: whoever does not know the secret is not let in, whatever he says and replays") {
  const JobCredentials job = JobCredentials::generate();
  const Nonce nonce = fresh_nonce();
  // As recorded from another handshake.
  const std::string said =
      text_of(make_hello(job, nonce)) + text_of(make_proof(job, nonce, fresh_nonce()));
  Door door;

  fuzz<ConnectionError>(Mutations(43, {said}), [&](const std::string& words) {
    if (door.let_in(words, job)) throw Inconsistent();
    throw ConnectionError({.what = "not let in", .where = {}, .remedy = {}});
  });
}

TEST_CASE("fuzz: a damaged launch ticket is refused, or it is another that could have been sent") {
  const std::vector<std::string> fragments = {"-1",    "1.5",   "1e300", "null",
                                              "false", "\"x\"", "{",     "18446744073709551616"};

  const Verdicts verdicts = fuzz<InputError>(
      Mutations(47, {encode(sample_ticket())}, fragments), [](const std::string& line) {
        const std::string again = encode(decode_launch_ticket(line));
        require_consistent(encode(decode_launch_ticket(again)) == again);
      });

  CHECK(verdicts.accepted > 0);
}
