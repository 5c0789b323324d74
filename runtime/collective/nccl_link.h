// NCCL as a library of collectives (link.h). No call of it waits: what takes time is polled, so
// that whoever waits can give up. A communicator whose group has failed is aborted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/collective/link.h"
#include "runtime/collective/nccl_calls.h"
#include "runtime/training/synchroniser.h"

namespace scavenger {

class NcclConnector final : public Connector {
 public:
  // Connects to the store of a group. It may take some seconds, and throws std::exception.
  using OpenStore = std::function<std::unique_ptr<MeetingStore>(const SyncGroup&)>;

  // `finalise_seconds`: after that, a communicator that is being finalised is aborted.
  NcclConnector(std::shared_ptr<NcclCalls> calls, OpenStore open_store, const Clock& clock,
                double finalise_seconds);

  std::unique_ptr<LinkAttempt> prepare(const SyncGroup& group, std::shared_ptr<Link> previous,
                                       std::uint64_t completed) override;
  bool reuses_links() const override { return true; }

 private:
  const std::shared_ptr<NcclCalls> calls_;
  const OpenStore open_store_;
  const Clock& clock_;
  const double finalise_seconds_;
};

}  // namespace scavenger
