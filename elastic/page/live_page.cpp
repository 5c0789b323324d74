#include "elastic/page/live_page.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <future>
#include <list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <utility>

#include "elastic/page/log_follower.h"
#include "elastic/page/page_board.h"
#include "elastic/page/page_request.h"
#include "elastic/page/prometheus_text.h"
#include "elastic/page/report_page.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/net/authentication.h"
#include "runtime/net/spawn.h"

namespace scavenger::elastic {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using std::chrono::milliseconds;
using Time = std::chrono::steady_clock;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

constexpr int kMostConnections = 64;
constexpr int kMostLookers = 16;  // that get events
constexpr std::uint32_t kHeadLimitBytes = 8 << 10;
constexpr std::uint64_t kBodyLimitBytes = 4 << 10;       // as the control socket's
constexpr auto kPatience = std::chrono::seconds(10);     // with a peer that says or takes nothing
constexpr auto kHeadPatience = std::chrono::seconds(3);  // with one that is not known yet
constexpr auto kHeartbeat = std::chrono::seconds(5);
constexpr milliseconds kReadSlice(100);  // of the log, before others have their turn
constexpr milliseconds kLook(200);       // for something new to send
constexpr milliseconds kUpdate(1000);    // of what is shown; longer where that takes long
constexpr int kRestFactor = 20;          // so much longer than the update took
constexpr milliseconds kFarewell(2000);
constexpr int kNiceness = 10;

std::string text_of(beast::string_view view) {
  return {view.data(), view.size()};
}

PageRequest head_of(const Request& request) {
  const auto field = [&](auto name) { return text_of(request[name]); };
  return {.method = text_of(request.method_string()),
          .target = text_of(request.target()),
          .host = field(http::field::host),
          .origin = field(http::field::origin),
          .cookie = field(http::field::cookie),
          .authorization = field(http::field::authorization),
          .content_type = field(http::field::content_type),
          .fetch_site = field("Sec-Fetch-Site")};
}

Response make_response(unsigned status, const std::string& type, std::string body) {
  Response response(static_cast<http::status>(status), 11);
  response.set(http::field::content_type, type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("X-Frame-Options", "DENY");
  response.set("Referrer-Policy", "no-referrer");
  response.keep_alive(false);
  response.body() = std::move(body);
  response.prepare_payload();
  return response;
}

Response make_refusal(unsigned status, const std::string& reason) {
  return make_response(status, "application/json", nlohmann::json{{"error", reason}}.dump());
}

}  // namespace

class LivePage::Server final {
 public:
  explicit Server(LivePageOptions options)
      : options_(std::move(options)),
        acceptor_(listen_on(io_, {options_.address, options_.port})),
        update_timer_(io_),
        access_{.token = options_.token,
                .port = acceptor_.local_endpoint().port(),
                .is_loopback = acceptor_.local_endpoint().address().is_loopback()},
        follower_(options_.run_folder / "events.jsonl") {
    spawn(io_, accept_all());
    spawn(io_, keep_up_to_date());
    runner_ = std::thread([this] { run(); });
  }

  // The last state reaches those who look, where they take it.
  ~Server() {
    std::promise<void> said;
    asio::post(io_, [this, &said] {
      acceptor_.close();
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
  awaitable<void> accept_all();
  awaitable<void> serve(tcp::socket socket);
  awaitable<void> take_request(beast::tcp_stream& stream);
  awaitable<void> answer(beast::tcp_stream& stream, const PageDecision& decision,
                         const std::string& body);
  bool make_room();
  awaitable<void> send(beast::tcp_stream& stream, Response response);
  awaitable<void> write(beast::tcp_stream& stream, std::string text);
  awaitable<void> stream_events(beast::tcp_stream& stream);
  awaitable<void> keep_up_to_date();
  awaitable<void> read_log();
  void publish();
  void leave_if_alone();
  Response page_response(bool sets_cookie) const;
  Response command_response(const std::string& body) const;

  const LivePageOptions options_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer update_timer_;
  const PageAccess access_;
  // Of the thread from here on.
  LogFollower follower_;
  bool is_reading_ = false;
  std::string trouble_;  // why the log is not read on
  PageBoard board_;
  int connections_ = 0;
  std::list<beast::tcp_stream*> strangers_;  // that have not shown the token, the oldest first
  int lookers_ = 0;
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

awaitable<void> LivePage::Server::accept_all() {
  asio::steady_timer pause(io_);
  for (;;) {
    boost::system::error_code error;
    tcp::socket socket =
        co_await acceptor_.async_accept(asio::redirect_error(use_awaitable, error));
    if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) co_return;
    if (error) {  // such as too many open files
      pause.expires_after(kLook);
      co_await pause.async_wait(use_awaitable);
      continue;
    }
    if (connections_ >= kMostConnections && !make_room()) continue;  // and close it
    spawn(io_, serve(std::move(socket)));
  }
}

// Closes the oldest connection of a stranger: however many come and say nothing, whoever brings the
// token is heard. False where there is none.
bool LivePage::Server::make_room() {
  if (strangers_.empty()) return false;
  beast::tcp_stream* const oldest = strangers_.front();
  strangers_.pop_front();
  oldest->close();
  return true;
}

awaitable<void> LivePage::Server::serve(tcp::socket socket) {
  ++connections_;
  beast::tcp_stream stream(std::move(socket));
  strangers_.push_back(&stream);
  try {
    co_await take_request(stream);
  } catch (const boost::system::system_error&) {  // it is gone, or takes nothing
  }
  boost::system::error_code ignored;
  stream.socket().shutdown(tcp::socket::shutdown_both, ignored);
  strangers_.remove(&stream);
  --connections_;
}

awaitable<void> LivePage::Server::take_request(beast::tcp_stream& stream) {
  const auto is_too_long = [](const boost::system::error_code& error) {
    return error == http::error::header_limit || error == http::error::buffer_overflow ||
           error == http::error::body_limit;
  };
  beast::flat_buffer buffer(kHeadLimitBytes + kBodyLimitBytes);
  http::request_parser<http::string_body> parser;
  parser.header_limit(kHeadLimitBytes);
  parser.body_limit(kBodyLimitBytes);
  stream.expires_after(kHeadPatience);
  boost::system::error_code error;
  co_await http::async_read_header(stream, buffer, parser,
                                   asio::redirect_error(use_awaitable, error));
  PageDecision decision;
  if (!error) decision = decide(head_of(parser.get()), access_);
  if (!error && decision.answer != PageAnswer::kRefused) strangers_.remove(&stream);
  if (!error) {
    stream.expires_after(decision.answer == PageAnswer::kRefused ? kHeadPatience : kPatience);
    co_await http::async_read(stream, buffer, parser, asio::redirect_error(use_awaitable, error));
  }
  if (is_too_long(error))
    co_await send(stream, make_refusal(413, "the request is too long"));
  else if (!error)
    co_await answer(stream, decision, parser.get().body());
}

awaitable<void> LivePage::Server::answer(beast::tcp_stream& stream, const PageDecision& decision,
                                         const std::string& body) {
  switch (decision.answer) {
    case PageAnswer::kRefused:
      co_await send(stream, make_refusal(decision.status, decision.reason));
      break;
    case PageAnswer::kPage:
      co_await send(stream, page_response(decision.brings_token));
      break;
    case PageAnswer::kCommand:
      co_await send(stream, command_response(body));
      break;
    case PageAnswer::kMetrics:
      co_await read_log();
      co_await send(stream, make_response(200, "text/plain; version=0.0.4; charset=utf-8",
                                          prometheus_text(follower_.history())));
      break;
    case PageAnswer::kEvents:
      co_await stream_events(stream);
      break;
  }
}

awaitable<void> LivePage::Server::send(beast::tcp_stream& stream, Response response) {
  stream.expires_after(kPatience);
  co_await http::async_write(stream, response, use_awaitable);
}

awaitable<void> LivePage::Server::write(beast::tcp_stream& stream, std::string text) {
  stream.expires_after(kPatience);
  const auto bytes = asio::buffer(text);
  co_await asio::async_write(stream, bytes, use_awaitable);
}

Response LivePage::Server::page_response(bool sets_cookie) const {
  std::string policy;
  const std::string page = live_page(options_.run_folder.string(), policy);
  Response response = make_response(200, "text/html; charset=utf-8", page);
  response.set("Content-Security-Policy", policy);
  if (sets_cookie) response.set(http::field::set_cookie, cookie_for(access_));
  return response;
}

Response LivePage::Server::command_response(const std::string& body) const {
  const nlohmann::json command = nlohmann::json::parse(body, nullptr, false);
  if (!command.is_object()) return make_refusal(400, "a command is a JSON object");
  try {
    return make_response(200, "application/json", options_.tell(command).dump());
  } catch (const Error& error) {
    return make_refusal(409, error.what());
  }
}

// Each looker-on has a pace of its own: whoever is slow is sent the newest state when it has taken
// the last one, and nothing waits for it in between.
awaitable<void> LivePage::Server::stream_events(beast::tcp_stream& stream) {
  if (lookers_ >= kMostLookers) {
    co_await send(stream, make_refusal(503, "too many look on already"));
    co_return;
  }
  ++lookers_;
  update_timer_.cancel();
  try {
    std::uint64_t sent = 0;
    Time::time_point last_write = Time::now();
    asio::steady_timer pause(io_);
    co_await write(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\nretry: 1000\n\n");
    for (;;) {
      const std::uint64_t version = board_.version();
      if (version > sent) {
        co_await write(stream, fmt::format("event: sections\nid: {}\ndata: {}\n\n", version,
                                           board_.changes_since(sent)));
        sent = version;
        last_write = Time::now();
      } else if (is_last_state_) {
        co_await write(stream, "event: ended\ndata: {}\n\n");
        break;
      } else if (Time::now() - last_write > kHeartbeat) {
        co_await write(stream, ":\n\n");
        last_write = Time::now();
      }
      pause.expires_after(kLook);
      co_await pause.async_wait(use_awaitable);
    }
  } catch (const boost::system::system_error&) {  // the looker-on has left, or is stuck
  }
  --lookers_;
  leave_if_alone();
}

// Works only while somebody looks.
awaitable<void> LivePage::Server::keep_up_to_date() {
  milliseconds rest = kUpdate;
  while (!is_last_state_ && (lookers_ > 0 || !ending_)) {
    if (lookers_ > 0) {
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
  if (follower_.has_begun()) sections.push_back({.name = "job", .json = job.dump()});
  board_.post(std::move(sections));
}

void LivePage::Server::leave_if_alone() {
  if (!ending_ || lookers_ > 0 || farewell_ == nullptr) return;
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
