// The calls to Compute Engine that a job needs, repeated as far as that is safe.
//
// Reads are repeated freely. A call that changes something is repeated only under its request id,
// which Compute Engine knows again; if no answer says what became of it, the VM itself is looked
// up; and if that does not tell either, the result is "uncertain", not "failed".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cloud_gcp/api/cloud_fault.h"
#include "cloud_gcp/api/compute_json.h"
#include "cloud_gcp/api/credentials.h"
#include "runtime/http/backoff.h"

namespace scavenger::gcp {

struct ComputePlace {
  std::string endpoint = "https://compute.googleapis.com";
  std::string project;
};

// How long we try. Seconds.
struct Patience {
  BackoffRule backoff;
  double call_seconds = 30.0;   // one request
  double wait_seconds = 150.0;  // one request that waits for an operation: it may take 2 minutes
  double read_seconds = 120.0;  // a read with all its repetitions
  double operation_seconds = 600.0;  // a change, from the first request to its result
};

enum class Outcome { kDone, kRefused, kUncertain };

struct ChangeResult {
  Outcome outcome = Outcome::kUncertain;
  std::optional<CloudFault> fault;  // unless done
  // Refused, but an earlier attempt got no answer, and may be carried out yet.
  bool may_still_come = false;
  // Refused, but some of the VMs of one request may have been made.
  bool may_be_partial = false;
};

// Thread: the io_context's of `http`. All that is passed must outlive it; and it must outlive its
// calls.
class ComputeClient final {
 public:
  // Throws InputError for an endpoint that is none, or would carry tokens in clear.
  ComputeClient(ComputePlace place, const Patience& patience, HttpClient& http, TokenSource& tokens,
                const Clock& clock);

  // Done: the VM is there. Its name is used once, so one of that name is ours.
  awaitable<ChangeResult> insert(VmOrder order, std::string request_id);
  // VMs like `order` under these names, with one request. Done: those that there was room for are
  // there, as a look at each tells.
  awaitable<ChangeResult> bulk_insert(VmOrder order, std::vector<std::string> names,
                                      std::string request_id);
  // Done: there is no such VM any more.
  awaitable<ChangeResult> remove(std::string zone, std::string name, std::string request_id);

  // What follows throws CloudError, if it is refused or there is no answer for too long.
  awaitable<std::optional<Instance>> find(std::string zone, std::string name);
  // In all zones, or in one; `filter` as of identity.h.
  awaitable<std::vector<Instance>> list(std::string zone, std::string filter);
  // Nothing: the zone has none of that name.
  awaitable<std::optional<MachineType>> machine_type(std::string zone, std::string name);
  awaitable<std::vector<Quota>> quotas(std::string region);
  // What a VM has written into its guest attribute NAMESPACE/KEY; nothing: not yet.
  awaitable<std::optional<std::string>> guest_attribute(std::string zone, std::string name,
                                                        std::string attribute);
  // Adds an item to a VM's metadata. Returns when it is there.
  awaitable<void> add_metadata(std::string zone, std::string name, std::string key,
                               std::string value);
  // The operations of a zone that took a VM away: "compute.instances.preempted" of `name`.
  awaitable<bool> was_preempted(std::string zone, std::string name);

  // The last bytes that a VM has written to its serial console; empty if it is gone.
  awaitable<std::string> console_end(std::string zone, std::string name, int bytes);

  const ComputePlace& place() const { return place_; }
  Problem problem(const CloudFault& fault, const std::string& where) const;

 private:
  struct Attempt {
    std::optional<json> reply;
    std::optional<CloudFault> fault;
    bool may_still_come = false;  // an earlier one
  };

  std::string url(const std::string& path) const;
  awaitable<Attempt> attempt(std::string method, std::string url, json body,
                             double deadline_seconds);
  awaitable<json> read(std::string url);
  awaitable<std::optional<json>> read_if_found(std::string url);
  awaitable<std::vector<json>> read_pages(std::string path, std::string filter);
  // Sends a change until there is an answer to it; the operation that it began.
  awaitable<Attempt> change(std::string method, std::string url, json body, double until_seconds);
  struct Waited {
    std::optional<Operation> operation;  // nothing: it cannot be told any more
    std::optional<CloudFault> fault;     // why
  };
  awaitable<Waited> wait(std::string zone, Operation operation, double until_seconds);
  // Whether the VM is there; nothing: it cannot be told.
  awaitable<std::optional<bool>> exists(std::string zone, std::string name);
  awaitable<bool> all_exist(std::string zone, std::vector<std::string> names);
  // Asks under one request id until it is clear what became of these VMs.
  awaitable<ChangeResult> create(std::string zone, std::string method_url, json body,
                                 std::vector<std::string> names);
  awaitable<void> pause(double seconds);

  ComputePlace place_;
  Patience patience_;
  HttpClient& http_;
  TokenSource& tokens_;
  const Clock& clock_;
  RandomStream random_;
};

}  // namespace scavenger::gcp
