#include "kubernetes/api/object_watch.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/http/url.h"
#include "runtime/net/spawn.h"

namespace scavenger::kubernetes {
namespace {

constexpr std::size_t kLongestLine = std::size_t{8} << 20;  // etcd's objects have 1.5 MiB at most
constexpr double kGraceSeconds = 15.0;                      // for the server to end a watch
constexpr int kFailuresBeforeList = 3;  // then the resource version itself may be the reason

}  // namespace

bool JsonLines::feed(std::string_view bytes, const std::function<void(const json&)>& take) {
  if (is_broken_) return false;
  rest_ += bytes;
  std::size_t begin = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    const std::string_view line = std::string_view(rest_).substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) continue;
    const auto object = parse_object(line);
    if (!object) {
      is_broken_ = true;
      return false;
    }
    take(*object);
  }
  rest_.erase(0, begin);
  is_broken_ = rest_.size() > kLongestLine;
  return !is_broken_;
}

std::shared_ptr<ObjectWatch> ObjectWatch::start(asio::io_context& io,
                                                std::shared_ptr<KubeClient> client,
                                                std::string collection, std::string query,
                                                const WatchSettings& settings,
                                                WatchListener listener) {
  const std::shared_ptr<ObjectWatch> watch(new ObjectWatch(io, std::move(client),
                                                           std::move(collection), std::move(query),
                                                           settings, std::move(listener)));
  spawn(io, watch->follow(watch));
  return watch;
}

ObjectWatch::ObjectWatch(asio::io_context& io, std::shared_ptr<KubeClient> client,
                         std::string collection, std::string query, const WatchSettings& settings,
                         WatchListener listener)
    : client_(std::move(client)),
      collection_(std::move(collection)),
      query_(std::move(query)),
      settings_(settings),
      listener_(std::move(listener)),
      backoff_(settings.backoff),
      rest_(io) {}

void ObjectWatch::stop() {
  is_stopped_ = true;
  listener_ = {};
  if (stream_ && stream_->close) stream_->close();
  rest_.cancel();
}

awaitable<void> ObjectWatch::pause(double seconds) {
  if (is_stopped_) co_return;
  rest_.expires_after(std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6)));
  const auto quietly = asio::as_tuple(use_awaitable);
  co_await rest_.async_wait(quietly);
}

awaitable<void> ObjectWatch::follow(std::shared_ptr<ObjectWatch>) {
  Next next = Next::kList;
  while (!is_stopped_ && next != Next::kEnd) {
    if (next == Next::kList)
      next = co_await list();
    else
      next = co_await watch();
  }
}

awaitable<ObjectWatch::Next> ObjectWatch::list() {
  std::optional<Fault> fault;
  try {
    const ObjectList found = co_await client_->list(collection_, query_);
    ++lists_;
    if (is_stopped_) co_return Next::kEnd;
    resource_version_ = found.resource_version;
    listed_ = client_->clock().now_seconds();
    is_expired_ = false;
    failures_ = 0;
    listener_.on_list(found.items);
    co_return Next::kWatch;
  } catch (const KubeError& error) {
    fault = error.fault();
  }
  const Next next = co_await after(*fault);
  co_return next == Next::kEnd ? Next::kEnd : Next::kList;
}

std::string ObjectWatch::watch_path() const {
  return fmt::format(
      "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}{}{}",
      collection_, static_cast<int>(settings_.watch_seconds), percent_encoded(resource_version_),
      query_.empty() ? "" : "&", query_);
}

awaitable<ObjectWatch::Next> ObjectWatch::watch() {
  const double age_seconds = client_->clock().now_seconds() - listed_;
  if (age_seconds >= settings_.relist_seconds) co_return Next::kList;
  stream_ = std::make_shared<HttpStream>();
  auto lines = std::make_shared<JsonLines>();
  stream_->on_bytes = [this, lines](std::string_view bytes) {
    const auto take = [this](const json& event) { take_event(event); };
    const bool is_good = lines->feed(bytes, take);
    if (!is_good && stream_->close) stream_->close();
  };
  std::string path = watch_path();
  const auto fault =
      co_await client_->stream(std::move(path), settings_.watch_seconds + kGraceSeconds, stream_);
  stream_.reset();
  if (is_stopped_) co_return Next::kEnd;
  if (is_expired_) co_return Next::kList;
  if (!fault) co_return Next::kWatch;
  const Next next = co_await after(*fault);
  co_return next;
}

// What is tried next, after a wait.
awaitable<ObjectWatch::Next> ObjectWatch::after(Fault fault) {
  if (is_stopped_) co_return Next::kEnd;
  if (fault.kind == FaultKind::kExpired) co_return Next::kList;
  if (fault.kind == FaultKind::kPermission || fault.kind == FaultKind::kNotFound) {
    listener_.on_refused(fault);
    co_return Next::kEnd;
  }
  ++failures_;
  log_warning("a watch of {} was interrupted: {}", collection_, fault.message);
  const double wait = client_->backoff_seconds(backoff_, fault);
  co_await pause(wait);
  co_return failures_ >= kFailuresBeforeList ? Next::kList : Next::kWatch;
}

void ObjectWatch::take_event(const json& event) {
  if (is_stopped_ || is_expired_) return;
  const std::string type = text_at(event, {"type"});
  const json& object = value_at(event, {"object"});
  if (type == "ERROR") {  // a Status: mostly 410, and always the end of this watch
    is_expired_ = true;
    return;
  }
  const std::string version = text_at(object, {"metadata", "resourceVersion"});
  if (!version.empty()) resource_version_ = version;
  backoff_.start_again();
  failures_ = 0;
  if (type == "ADDED" || type == "MODIFIED") listener_.on_change(object);
  if (type == "DELETED") listener_.on_removed(object);
}

}  // namespace scavenger::kubernetes
