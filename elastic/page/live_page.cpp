#include "elastic/page/live_page.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "elastic/page/log_follower.h"
#include "elastic/page/page_board.h"
#include "elastic/page/page_request.h"
#include "elastic/page/prometheus_text.h"
#include "elastic/page/report_page.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/log.h"
#include "runtime/http/http_server.h"
#include "runtime/net/spawn.h"

namespace scavenger::elastic {
namespace {

using std::chrono::milliseconds;
// Of real sockets and of this thread's own work; nothing that a job does depends on it.
using Time = std::chrono::steady_clock;

constexpr int kMostViewers = 16;  // that get events
constexpr auto kHeartbeat = std::chrono::seconds(5);
constexpr milliseconds kReadSlice(100);  // of the log, before others have their turn
constexpr milliseconds kLook(200);       // for something new to send
constexpr milliseconds kUpdate(1000);    // of what is shown; longer where that takes long
constexpr int kRestFactor = 20;          // so much longer than the update took
constexpr milliseconds kFarewell(2000);
constexpr int kNiceness = 10;

PageRequest page_request(const HttpHead& head) {
  const auto field = [&](std::string_view name) { return std::string(head.field(name)); };
  return {.method = head.method,
          .target = head.target,
          .host = field("Host"),
          .origin = field("Origin"),
          .cookie = field("Cookie"),
          .authorization = field("Authorization"),
          .content_type = field("Content-Type"),
          .fetch_site = field("Sec-Fetch-Site")};
}

HttpResponse make_response(unsigned status, const std::string& type, std::string body) {
  return {.status = status,
          .type = type,
          .body = std::move(body),
          .fields = {{"Cache-Control", "no-store"},
                     {"X-Content-Type-Options", "nosniff"},
                     {"X-Frame-Options", "DENY"},
                     {"Referrer-Policy", "no-referrer"}}};
}

HttpResponse make_refusal(unsigned status, const std::string& reason) {
  return make_response(status, "application/json", json_text(nlohmann::json{{"error", reason}}));
}

}  // namespace

class LivePage::Server final : private HttpHandler {
 public:
  explicit Server(LivePageOptions options)
      : options_(std::move(options)),
        http_(io_, {options_.address, options_.port}, HttpLimits{}, *this),
        update_timer_(io_),
        access_{
            .token = options_.token, .port = http_.port(), .is_loopback = http_.is_on_loopback()},
        follower_(options_.run_folder / "events.jsonl") {
    spawn(io_, keep_up_to_date());
    runner_ = std::thread([this] { run(); });
  }

  // The last state reaches those who look, where they take it.
  ~Server() {
    std::promise<void> said;
    asio::post(io_, [this, &said] {
      http_.close();
      farewell_ = &said;
      ending_ = true;
      update_timer_.cancel();
      leave_if_alone();
    });
    said.get_future().wait_for(kFarewell);
    io_.stop();
    runner_.join();
  }

  std::uint16_t port() const { return access_.port; }
  const LivePageOptions& options() const { return options_; }

 private:
  void run();
  std::optional<HttpResponse> refuse(const HttpHead& head) override;
  awaitable<void> answer(HttpHead head, std::string body, HttpConnection& connection) override;
  awaitable<void> stream_events(HttpConnection& connection);
  awaitable<void> keep_up_to_date();
  awaitable<void> read_log();
  void publish();
  void leave_if_alone();
  HttpResponse page_response(bool sets_cookie) const;
  HttpResponse command_response(const std::string& body) const;

  const LivePageOptions options_;
  asio::io_context io_{1};
  HttpServer http_;
  asio::steady_timer update_timer_;
  const PageAccess access_;
  // Of the thread from here on.
  LogFollower follower_;
  bool is_reading_ = false;
  std::string trouble_;  // why the log is not read on
  PageBoard board_;
  int viewers_ = 0;
  bool ending_ = false;
  bool is_last_state_ = false;
  std::promise<void>* farewell_ = nullptr;
  std::thread runner_;
};

// Whatever happens here, training goes on.
void LivePage::Server::run() {
  ::pthread_setname_np(::pthread_self(), "live page");
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
  for (;;) {
    try {
      io_.run();
      return;
    } catch (const std::exception& error) {
      log_warning("live page: {}", error.what());
    }
  }
}

std::optional<HttpResponse> LivePage::Server::refuse(const HttpHead& head) {
  const PageDecision decision = decide(page_request(head), access_);
  if (decision.answer != PageAnswer::kRefused) return std::nullopt;
  return make_refusal(decision.status, decision.reason);
}

awaitable<void> LivePage::Server::answer(HttpHead head, std::string body,
                                         HttpConnection& connection) {
  const PageDecision decision = decide(page_request(head), access_);
  switch (decision.answer) {
    case PageAnswer::kRefused:  // refuse() has seen to it
      break;
    case PageAnswer::kPage:
      co_await connection.send(page_response(decision.brings_token));
      break;
    case PageAnswer::kCommand:
      co_await connection.send(command_response(body));
      break;
    case PageAnswer::kMetrics:
      co_await read_log();
      co_await connection.send(make_response(200, "text/plain; version=0.0.4; charset=utf-8",
                                             prometheus_text(follower_.history())));
      break;
    case PageAnswer::kEvents:
      co_await stream_events(connection);
      break;
  }
}

HttpResponse LivePage::Server::page_response(bool sets_cookie) const {
  std::string policy;
  const std::string page = live_page(options_.run_folder.string(), policy);
  HttpResponse response = make_response(200, "text/html; charset=utf-8", page);
  response.fields.emplace_back("Content-Security-Policy", policy);
  if (sets_cookie) response.fields.emplace_back("Set-Cookie", cookie_for(access_));
  return response;
}

HttpResponse LivePage::Server::command_response(const std::string& body) const {
  const nlohmann::json command = try_parse_json(body).value_or(nullptr);
  if (!command.is_object()) return make_refusal(400, "a command is a JSON object");
  try {
    return make_response(200, "application/json", json_text(options_.tell(command)));
  } catch (const Error& error) {
    return make_refusal(409, error.what());
  }
}

// Each viewer has a pace of its own: a slow one is sent the newest state when it has taken the last
// one, and nothing waits for it in between.
awaitable<void> LivePage::Server::stream_events(HttpConnection& connection) {
  if (viewers_ >= kMostViewers) {
    co_await connection.send(make_refusal(503, "there are too many viewers already"));
    co_return;
  }
  ++viewers_;
  update_timer_.cancel();
  try {
    std::uint64_t sent = 0;
    Time::time_point last_write = Time::now();
    asio::steady_timer pause(io_);
    co_await connection.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\nretry: 1000\n\n");
    for (;;) {
      const std::uint64_t version = board_.version();
      if (version > sent) {
        co_await connection.write(fmt::format("event: sections\nid: {}\ndata: {}\n\n", version,
                                              board_.changes_since(sent)));
        sent = version;
        last_write = Time::now();
      } else if (is_last_state_) {
        co_await connection.write("event: ended\ndata: {}\n\n");
        break;
      } else if (Time::now() - last_write > kHeartbeat) {
        co_await connection.write(":\n\n");
        last_write = Time::now();
      }
      pause.expires_after(kLook);
      co_await pause.async_wait(use_awaitable);
    }
  } catch (const boost::system::system_error&) {  // the viewer has left, or is stuck
  }
  --viewers_;
  leave_if_alone();
}

// Works only while somebody looks.
awaitable<void> LivePage::Server::keep_up_to_date() {
  milliseconds rest = kUpdate;
  while (!is_last_state_ && (viewers_ > 0 || !ending_)) {
    if (viewers_ > 0) {
      const Time::time_point begin = Time::now();
      const bool is_last = ending_;
      co_await read_log();
      publish();
      is_last_state_ = is_last;
      rest = std::max(kUpdate,
                      kRestFactor * std::chrono::duration_cast<milliseconds>(Time::now() - begin));
    }
    if (ending_) continue;
    boost::system::error_code woken;
    update_timer_.expires_after(rest);
    co_await update_timer_.async_wait(asio::redirect_error(use_awaitable, woken));
  }
}

awaitable<void> LivePage::Server::read_log() {
  asio::steady_timer turn(io_);
  while (is_reading_) {  // somebody else is at it
    turn.expires_after(kReadSlice);
    co_await turn.async_wait(use_awaitable);
  }
  is_reading_ = true;
  try {
    while (trouble_.empty() && !follower_.advance(kReadSlice))
      co_await asio::post(io_, use_awaitable);
  } catch (const Error& error) {
    trouble_ = error.what();
    log_warning("the live page stays as it is: {}", trouble_);
  }
  is_reading_ = false;
}

void LivePage::Server::publish() {
  std::vector<PageSection> sections;
  if (follower_.has_begun())
    sections = page_sections(follower_.history(), options_.run_folder.string());
  nlohmann::json job = nullptr;
  if (!ending_) {
    try {
      job = options_.tell({{"command", "status"}});
      job.erase("seconds");   // changes all the time, and the page knows it
    } catch (const Error&) {  // it does not listen yet, or is busy ending
    }
  }
  if (follower_.has_begun()) sections.push_back({.name = "job", .json = json_text(job)});
  board_.post(std::move(sections));
}

void LivePage::Server::leave_if_alone() {
  if (!ending_ || viewers_ > 0 || farewell_ == nullptr) return;
  farewell_->set_value();
  farewell_ = nullptr;
}

LivePage::LivePage(LivePageOptions options)
    : server_(std::make_unique<Server>(std::move(options))) {}

LivePage::~LivePage() = default;

std::uint16_t LivePage::port() const {
  return server_->port();
}

std::string LivePage::url() const {
  return fmt::format("http://{}:{}/?token={}", server_->options().address, port(),
                     server_->options().token);
}

}  // namespace scavenger::elastic
