// The page's server beside a job that writes its log: two threads and whoever looks on. Under the
// thread sanitizer it shows that they share nothing that they must not (docs/building.md). What the
// page shows and refuses is tested in Chromium (test/integration/pages/live_page_test.py).
#include "elastic/page/live_page.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "elastic/events/event_log.h"
#include "runtime/net/asio.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

const std::string kToken = "0123456789abcdef";
constexpr std::chrono::milliseconds kPace(1);  // a reader under a sanitizer has to keep up

// One that asks, and listens as long as it likes.
class Visitor final {
 public:
  explicit Visitor(std::uint16_t port) : port_(port), socket_(io_) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
  }

  void ask(const std::string& line, const std::string& body = {}, bool brings_token = true) {
    const std::string text = fmt::format(
        "{} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}Content-Type: application/json\r\n"
        "Content-Length: {}\r\n\r\n{}",
        line, port_, brings_token ? "Authorization: Bearer " + kToken + "\r\n" : "", body.size(),
        body);
    asio::write(socket_, asio::buffer(text));
  }
  void begins_to_ask() { asio::write(socket_, asio::buffer("G", 1)); }
  // Up to these words, or to the end; whether they came.
  bool hears(const std::string& words) {
    boost::system::error_code error;
    while (heard_.find(words) == std::string::npos && !error) {
      char bytes[4096];
      heard_.append(bytes, socket_.read_some(asio::buffer(bytes), error));
    }
    return heard_.find(words) != std::string::npos;
  }

 private:
  const std::uint16_t port_;
  asio::io_context io_;
  tcp::socket socket_;
  std::string heard_;
};

// A job that is at work until it is told to stop.
class WritingJob final {
 public:
  explicit WritingJob(const std::filesystem::path& run) : log_(run / "events.jsonl", clock_) {
    log_.append(sample_start());
    log_.append(sample_membership(1, {3, 5}));
    thread_ = std::thread([this] { write(); });
  }
  ~WritingJob() {
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
    }
    stop_.notify_one();
    thread_.join();
  }
  std::uint64_t iterations() const { return iterations_; }

 private:
  void write() {
    std::unique_lock lock(mutex_);
    for (; !is_stopped_; iterations_ += 10) {
      log_.append(sample_iterations(1, iterations_, 10, 2));
      stop_.wait_for(lock, kPace);
    }
  }

  const SteadyClock clock_;
  EventLogWriter log_;
  std::atomic<std::uint64_t> iterations_ = 0;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool is_stopped_ = false;
  std::thread thread_;
};

}  // namespace

TEST_CASE("Whoever looks on, asks, commands or leaves in mid-sentence, each is served") {
  constexpr int kVisits = 10;
  const TemporaryFolder run;
  std::atomic<int> commands = 0, heard = 0;
  std::thread last_looker;
  {
    const WritingJob job(run.path());
    const LivePage page(
        LivePageOptions{.run_folder = run.path(),
                        .token = kToken,
                        .tell = [&](const nlohmann::json& command) -> nlohmann::json {
                          if (command.at("command") == "pause") ++commands;
                          return {{"iteration", job.iterations()}};
                        }});
    const std::uint16_t port = page.port();
    const auto visit = [port, &heard](const std::string& line, const std::string& answer,
                                      const std::string& body = {}, bool brings_token = true) {
      return std::thread([=, &heard] {
        for (int i = 0; i < kVisits; ++i) {
          Visitor visitor(port);
          visitor.ask(line, body, brings_token);
          if (visitor.hears(answer)) ++heard;
        }
      });
    };
    std::vector<std::thread> visits;
    visits.push_back(visit("GET /metrics", "# TYPE scavenger_"));
    visits.push_back(visit("GET /", "</html>"));
    visits.push_back(visit("GET /events", "event: sections"));
    visits.push_back(visit("POST /command", "\"iteration\"", R"({"command":"pause"})"));
    visits.push_back(visit("GET /", "401", {}, false));
    for (std::thread& one : visits) one.join();

    CHECK(heard.load() == 5 * kVisits);
    CHECK(commands.load() == kVisits);

    std::atomic<bool> looks = false;
    last_looker = std::thread([port, &heard, &looks] {
      Visitor visitor(port);
      visitor.ask("GET /events");
      visitor.hears("event: sections");
      looks = true;
      if (visitor.hears("event: ended")) ++heard;
    });
    while (!looks) std::this_thread::yield();
  }
  last_looker.join();

  CHECK(heard.load() == 5 * kVisits + 1);  // it was told the end
}

TEST_CASE("However many strangers hold connections, whoever brings the token is heard") {
  constexpr int kStrangers = 84;  // more than the page takes
  const TemporaryFolder run;
  const WritingJob job(run.path());
  const LivePage page({.run_folder = run.path(), .token = kToken, .tell = [](const auto&) {
                         return nlohmann::json::object();
                       }});
  std::list<Visitor> strangers;
  for (int i = 0; i < kStrangers; ++i) strangers.emplace_back(page.port()).begins_to_ask();

  for (int i = 0; i < 5; ++i) {
    Visitor owner(page.port());
    owner.ask("GET /");
    CHECK(owner.hears("200 OK"));
    strangers.emplace_back(page.port()).begins_to_ask();
  }
}

}  // namespace scavenger::elastic
