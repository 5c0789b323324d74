// A fake Compute Engine (test/fake_gce) of a test's own.
#pragma once

#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/net/asio.h"
#include "runtime/process/child_process.h"
#include "test/support/temporary_folder.h"

namespace scavenger::gcp {

class FakeCloud final {
 public:
  // Starts it, and waits until it listens. `settings` as fake_gce.py takes them; `options`: further
  // words for its command line. Fields are checked against compute.proto where that is at hand.
  FakeCloud(asio::io_context& io, const nlohmann::json& settings,
            const std::vector<std::string>& options = {});

  const std::string& endpoint() const { return endpoint_; }
  const std::filesystem::path& folder() const { return folder_.path(); }
  // What it knows of itself: "vms", "faults", "violations", ... Blocks.
  nlohmann::json ledger();

 private:
  asio::io_context& io_;
  TemporaryFolder folder_;
  std::string endpoint_;
  std::unique_ptr<ChildProcess> process_;
};

// Two zones with room for many, one type of machine, and the fixed token "dev".
nlohmann::json small_cloud();

// A service account's key file, as it is downloaded, and its public key beside it (key.pub). Made
// by openssl.
std::filesystem::path make_key_file(const std::filesystem::path& folder,
                                    const std::string& token_uri);

// Runs a coroutine to its end, and hands out its result or what it threw.
template <typename Result>
Result run(asio::io_context& io, awaitable<Result> task) {
  std::exception_ptr failure;
  std::optional<Result> result;
  bool has_ended = false;
  asio::co_spawn(io, std::move(task), [&](const std::exception_ptr& error, Result value) {
    failure = error;
    result = std::move(value);
    has_ended = true;
  });
  io.restart();
  while (!has_ended && io.run_one() > 0) {
  }
  if (failure) std::rethrow_exception(failure);
  return std::move(*result);
}

inline void run(asio::io_context& io, awaitable<void> task) {
  const auto with_result = [](awaitable<void> work) -> awaitable<bool> {
    co_await std::move(work);
    co_return true;
  };
  run(io, with_result(std::move(task)));
}

}  // namespace scavenger::gcp
