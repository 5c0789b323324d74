// Follows the objects of a collection: a list, then a watch from its resource version, and again
// if the watch ends, is cut off, or has fallen too far behind.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/kube_client.h"

namespace scavenger::kubernetes {

// Cuts a stream of JSON lines, whatever pieces it comes in. Pure.
class JsonLines final {
 public:
  // Calls `take` for each line that is whole now. Returns false, and takes nothing more, after a
  // line that is no JSON object or is too long.
  bool feed(std::string_view bytes, const std::function<void(const json&)>& take);

 private:
  std::string rest_;
  bool is_broken_ = false;
};

struct WatchSettings {
  double watch_seconds = 240.0;   // the server ends a watch after so long
  double relist_seconds = 600.0;  // a new list so often, whatever the watch says
  BackoffRule backoff = kApiBackoff;
};

// All calls are on the io_context's thread, and none comes after stop().
struct WatchListener {
  std::function<void(const std::vector<json>&)> on_list;  // all objects that there are
  std::function<void(const json&)> on_change;             // added or modified
  std::function<void(const json&)> on_removed;
  // The collection may not be read: nothing more follows.
  std::function<void(const Fault&)> on_refused;
};

class ObjectWatch final {
 public:
  // Follows until stop(), and lives as long as that takes. `query`: as of KubeClient::list.
  static std::shared_ptr<ObjectWatch> start(asio::io_context& io,
                                            std::shared_ptr<KubeClient> client,
                                            std::string collection, std::string query,
                                            const WatchSettings& settings, WatchListener listener);

  void stop();
  // How often the whole list was read.
  int lists() const { return lists_; }

 private:
  enum class Next { kWatch, kList, kEnd };

  ObjectWatch(asio::io_context& io, std::shared_ptr<KubeClient> client, std::string collection,
              std::string query, const WatchSettings& settings, WatchListener listener);

  awaitable<void> follow(std::shared_ptr<ObjectWatch> self);
  awaitable<Next> list();
  awaitable<Next> watch();
  awaitable<Next> after(Fault fault);
  void take_event(const json& event);
  awaitable<void> pause(double seconds);
  std::string watch_path() const;

  std::shared_ptr<KubeClient> client_;
  const std::string collection_;
  const std::string query_;
  const WatchSettings settings_;
  WatchListener listener_;
  Backoff backoff_;
  std::string resource_version_;
  std::shared_ptr<HttpStream> stream_;
  asio::steady_timer rest_;
  bool is_stopped_ = false;
  bool is_expired_ = false;  // as an event of the watch says
  int lists_ = 0;
  int failures_ = 0;     // in a row
  double listed_ = 0.0;  // when, on the client's clock
};

}  // namespace scavenger::kubernetes
