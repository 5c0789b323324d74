// One who stands between two processes of a job: hears, and may change, what the client says.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/net/authentication.h"
#include "runtime/net/frame_connection.h"

namespace scavenger {

// A client and a server of a job that have met through an eavesdropper. Thread: the one that calls;
// everything runs within the calls.
class OverheardConversation final {
 public:
  // On this address of the machine. Throws where the two do not find each other.
  OverheardConversation(const std::string& address, const JobCredentials& job);
  ~OverheardConversation();

  // From now on, one bit of each piece on its way to the server is changed.
  void change_from_now_on() { changes_ = true; }
  // Sends one frame with this text, and returns when the server has read it or has ended.
  void client_sends(const std::string& text);

  const std::string& server_received() const { return received_; }
  const std::string& server_ending() const { return ending_; }  // why it reads no more
  // All that the client has sent, as it was on the wire.
  const std::vector<std::byte>& overheard() const { return overheard_; }

 private:
  awaitable<void> serve(JobCredentials job);
  awaitable<void> join(Endpoint endpoint, JobCredentials job);
  awaitable<void> stand_between();
  awaitable<void> pass_on(tcp::socket& from, tcp::socket& to, bool listens);

  asio::io_context io_;
  tcp::acceptor members_;  // where the server is
  tcp::acceptor between_;  // where the client is led to
  tcp::socket to_client_;
  tcp::socket to_server_;
  std::shared_ptr<FrameConnection> client_;
  std::vector<std::byte> overheard_;
  bool changes_ = false;
  std::string received_;
  std::string ending_;
};

}  // namespace scavenger
