// The calls to an API server that a job needs, repeated as far as that is safe.
//
// Every object has a name of its own, made before it is asked for. So a creation may be repeated:
// the server refuses the second one, and the object that is there is the one that was asked for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kubernetes/api/cluster_access.h"
#include "kubernetes/api/json_access.h"
#include "kubernetes/api/kube_fault.h"
#include "runtime/http/backoff.h"

namespace scavenger::kubernetes {

// An API server that is upgraded is back within a minute.
inline constexpr BackoffRule kApiBackoff{
    .initial_seconds = 0.5, .factor = 2.0, .longest_seconds = 30.0};

// How long we try. Seconds.
struct Patience {
  BackoffRule backoff = kApiBackoff;
  double call_seconds = 30.0;     // one request
  double read_seconds = 120.0;    // a read with all its repetitions
  double change_seconds = 300.0;  // a change with all its repetitions
};

enum class Outcome { kDone, kRefused, kUncertain };

struct ChangeResult {
  Outcome outcome = Outcome::kUncertain;
  std::optional<Fault> fault = {};  // unless done
  json object = {};                 // if done: as the server tells it; null if it did not
};

struct ObjectList {
  std::vector<json> items;
  std::string resource_version;  // from which a watch goes on
};

// Thread: the io_context's. The clock must outlive it, and it must outlive its calls.
class KubeClient final {
 public:
  KubeClient(asio::io_context& io, ClusterAccess access, const Patience& patience,
             const Clock& clock);

  // `collection`: "/api/v1/namespaces/n/pods". Done: the object is there. If it was there already,
  // an earlier attempt of this call has made it.
  awaitable<ChangeResult> create(std::string collection, json object);
  // Done: there is no such object, or it is about to go.
  awaitable<ChangeResult> remove(std::string path, double grace_seconds);
  // A question that changes nothing, although it is posted: access reviews.
  awaitable<json> ask(std::string path, json object);

  // What follows throws KubeError if it is refused, or if there is no answer for too long.
  awaitable<std::optional<json>> find(std::string path);  // nothing: not found
  // `query`: "labelSelector=...", encoded; may be empty.
  awaitable<ObjectList> list(std::string collection, std::string query);
  // The last lines that a container has written; empty if they are not to be had.
  awaitable<std::string> log_end(std::string pod_path, int lines);

  // One request for a stream, as long as it lives. Returns a fault if it was refused or cut off,
  // and nothing when the server has ended it.
  awaitable<std::optional<Fault>> stream(std::string path, double limit_seconds,
                                         std::shared_ptr<HttpStream> to);

  const ClusterAccess& access() const { return access_; }
  const Clock& clock() const { return clock_; }
  double backoff_seconds(Backoff& backoff, const Fault& fault);
  awaitable<void> pause(double seconds);

 private:
  struct Attempt {
    std::optional<HttpReply> reply;
    std::optional<Fault> fault;
  };
  awaitable<HttpRequest> make_request(std::string method, std::string path);
  awaitable<Attempt> attempt(std::string method, std::string path, std::string body,
                             std::shared_ptr<HttpStream> to, double deadline_seconds);
  // Repeats what may be repeated.
  awaitable<Attempt> persist(std::string method, std::string path, std::string body,
                             double until_seconds);
  awaitable<json> read(std::string method, std::string path, std::string body);

  ClusterAccess access_;
  Patience patience_;
  HttpClient http_;
  const Clock& clock_;
  RandomStream random_;
};

}  // namespace scavenger::kubernetes
