// The report of a job while it runs: a small web server beside it, fed by the event log.
//
// It takes part in nothing: it reads RUN/events.jsonl as anybody could, on a thread of its own with
// low priority, and only while somebody looks. A browser that is slow gets fewer updates; one that
// is dead is dropped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace scavenger::elastic {

struct LivePageOptions {
  std::filesystem::path run_folder;
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any that is free
  std::string token;       // who brings it may look and command
  // Tells the job something, and gives its answer (docs/control.md); called on the page's thread.
  // Throws Error if the job refuses or does not answer.
  std::function<nlohmann::json(const nlohmann::json& command)> tell;
};

class LivePage final {
 public:
  // Listens at once. Throws SystemError if the address cannot be had.
  explicit LivePage(LivePageOptions options);
  // Shows the end to those who look, for a moment, and ends.
  ~LivePage();

  // With the token: print it once, for the user.
  std::string url() const;
  std::uint16_t port() const;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace scavenger::elastic
