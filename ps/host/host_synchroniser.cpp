#include "ps/host/host_synchroniser.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::ps {
namespace {

// The descriptor number of the own file in every worker; no other file of a worker has it.
constexpr int kOwnFile = 100;
constexpr double kSleepSeconds = 0.05;
constexpr double kRetrySeconds = 0.002;
constexpr double kJoinSeconds = 20.0;

FileDescriptor make_own_file() {
  const FileDescriptor file = make_shared_file();
  FileDescriptor numbered(::fcntl(file.get(), F_DUPFD_CLOEXEC, kOwnFile));
  if (numbered.get() != kOwnFile)
    throw SystemError(errno, {.what = fmt::format("file {} is taken", kOwnFile),
                              .where = "shared memory of a host",
                              .remedy = "start workers without open files, and allow 1024"});
  return numbered;
}

// Returns the place of each host in the order of the first of its workers.
std::map<std::uint32_t, std::uint32_t> places_of(const std::vector<std::uint32_t>& hosts) {
  std::map<std::uint32_t, std::uint32_t> places;
  for (const std::uint32_t host : hosts)
    places.emplace(host, static_cast<std::uint32_t>(places.size()));
  return places;
}

}  // namespace

SyncGroup contributing(const SyncGroup& group) {
  if (group.hosts.empty()) return group;
  SyncGroup result = group;
  result.membership = contributors_of(group.membership, group.hosts);
  result.rank = places_of(group.hosts).at(group.hosts[group.rank]);
  return result;
}

scavenger::Membership contributors_of(const scavenger::Membership& membership,
                                      const std::vector<std::uint32_t>& hosts) {
  if (hosts.empty()) return membership;
  SCAVENGER_CHECK(hosts.size() == membership.workers());
  scavenger::Membership result = membership;
  const auto places = places_of(hosts);
  result.shares.assign(places.size(), 0);
  for (std::uint32_t rank = 0; rank < hosts.size(); ++rank)
    result.shares[places.at(hosts[rank])] += membership.shares[rank];
  return result;
}

HostSynchroniser::HostSynchroniser(asio::io_context& io, const Clock& clock, ChunkLayout layout,
                                   const JobCredentials& credentials, WireFormat format)
    : io_(io),
      clock_(clock),
      layout_(layout),
      chunk_bytes_(layout.chunk_size() * sizeof(float)),
      credentials_(credentials),
      format_(format),
      alone_(io, clock, layout, credentials, format),
      ready_chunks_(layout),
      own_file_(make_own_file()) {}

HostSynchroniser::~HostSynchroniser() {
  leave();
}

// ---- Joining. ----

void HostSynchroniser::leave() {
  if (connection_) connection_->interrupt();
  if (uplink_) uplink_->stop();
  use_segment(nullptr);
  foreign_segment_.reset();
}

void HostSynchroniser::use_segment(Segment* segment) {
  const std::lock_guard lock(mutex_);
  segment_ = segment;
}

bool HostSynchroniser::join(const SyncGroup& group, const InitialWeights& initial_weights) {
  leave();
  local_slots_.clear();
  local_batch_sizes_.clear();
  iteration_ = group.membership.first_iteration;
  std::uint32_t uplink_rank = group.rank;
  for (std::uint32_t rank = 0; rank < group.hosts.size(); ++rank) {
    if (group.hosts[rank] != group.hosts[group.rank]) continue;
    if (local_slots_.empty()) uplink_rank = rank;
    if (rank == group.rank) local_rank_ = static_cast<std::uint32_t>(local_slots_.size());
    local_slots_.push_back(group.slots[rank]);
    local_batch_sizes_.push_back(group.membership.shares[rank]);
  }
  if (local_slots_.size() < 2) return alone_.join(contributing(group), initial_weights);
  return uplink_rank == group.rank ? join_as_uplink(group, initial_weights)
                                   : join_beside(group, group.uplink_pid);
}

bool HostSynchroniser::join_as_uplink(const SyncGroup& group,
                                      const InitialWeights& initial_weights) {
  if (!own_segment_) {
    const std::lock_guard lock(mutex_);
    own_segment_ = Segment::create(own_file_.get(), {layout_.flat_size(), chunk_bytes_, 0});
    connection_ = std::make_unique<TcpSynchroniser>(
        io_, clock_, layout_, credentials_,
        TcpSynchroniser::Memory{own_segment_->version(0).weights,
                                own_segment_->gradient(kSumSlot),
                                {::getpid(), kOwnFile, own_segment_->weights_offset(0),
                                 own_segment_->gradient_offset(kSumSlot)}},
        format_);
    uplink_ = std::make_unique<HostUplink>(*own_segment_, *connection_);
  }
  {
    const std::lock_guard lock(mutex_);
    if (interrupted_) return false;
    connection_->allow();
  }
  if (!connection_->join(contributing(group), initial_weights)) return false;
  use_segment(own_segment_.get());
  segment_->board().begin_membership(iteration_, static_cast<std::uint32_t>(local_slots_.size()));
  uplink_->start(local_slots_, local_batch_sizes_);
  // The other workers wait for this store, which comes after all else.
  segment_->header().serving_epoch.store(group.membership.epoch);
  segment_->board().announce();
  return true;
}

bool HostSynchroniser::join_beside(const SyncGroup& group, std::int64_t uplink_pid) {
  const std::string path = fmt::format("/proc/{}/fd/{}", uplink_pid, kOwnFile);
  const double give_up_seconds = clock_.now_seconds() + kJoinSeconds;
  // The uplink may not have created its segment yet, or not for this membership.
  while (!(foreign_segment_ = attach_to(path))) {
    if (interrupted_) return false;
    if (clock_.now_seconds() > give_up_seconds)
      throw ConnectionError({.what = "the memory of this host's first worker is not there",
                             .where = path,
                             .remedy = "let all workers of a host run as one user; see its log"});
    std::atomic<std::uint32_t> nothing{0};
    futex_wait(nothing, 0, kRetrySeconds);
  }
  use_segment(foreign_segment_.get());
  const auto serving = [&] { return segment_->header().serving_epoch == group.membership.epoch; };
  while (!interrupted_ && !serving())
    segment_->board().sleep_unless([&] { return interrupted_ || serving(); }, kSleepSeconds);
  return serving();
}

void HostSynchroniser::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  alone_.interrupt();
  if (connection_) connection_->interrupt();
  if (segment_ != nullptr) segment_->board().announce();
}

void HostSynchroniser::allow() {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
  alone_.allow();
}

std::unique_ptr<Segment> HostSynchroniser::attach_to(const std::string& path) {
  foreign_file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (foreign_file_.get() < 0 || !Segment::iteration_in(foreign_file_.get())) return nullptr;
  return Segment::attach(foreign_file_.get(), {layout_.flat_size(), chunk_bytes_, 0});
}

std::string HostSynchroniser::problem() const {
  if (interrupted_) return {};
  return segment_ != nullptr && segment_ == own_segment_.get() ? connection_->problem()
                                                               : alone_.problem();
}

// ---- An iteration. ----

std::span<float> HostSynchroniser::weights() {
  return segment_ == nullptr ? alone_.weights() : segment_->version(0).weights;
}

std::span<float> HostSynchroniser::gradients() {
  return segment_ == nullptr ? alone_.gradients() : segment_->gradient(local_slots_[local_rank_]);
}

void HostSynchroniser::begin(std::uint64_t iteration) {
  if (segment_ == nullptr) return alone_.begin(iteration);
  SCAVENGER_CHECK(iteration == iteration_);
  ready_chunks_.begin_iteration();
}

void HostSynchroniser::gradient_ready(std::uint64_t first, std::uint64_t last) {
  if (segment_ == nullptr) return alone_.gradient_ready(first, last);
  ready_chunks_.finish(first, last, [this](std::uint32_t chunk) {
    segment_->board().contribute(iteration_, chunk);
  });
  if (segment_->board().waiting_chunks() > 0) segment_->board().announce();
}

std::optional<SyncResult> HostSynchroniser::finish() {
  if (segment_ == nullptr) return alone_.finish();
  SCAVENGER_CHECK(ready_chunks_.all_ready());
  const double start_seconds = clock_.now_seconds();
  const bool is_uplink = segment_ == own_segment_.get();
  const auto has_news = [&] {
    return segment_->board().iteration() > iteration_ || interrupted_ ||
           (is_uplink && uplink_->stopped());
  };
  while (!has_news()) segment_->board().sleep_unless(has_news, kSleepSeconds);
  if (segment_->board().iteration() <= iteration_) return std::nullopt;
  SyncResult yielded = result();
  yielded.wait_seconds = clock_.now_seconds() - start_seconds;
  ++iteration_;
  return yielded;
}

SyncResult HostSynchroniser::result() const {
  SyncResult sums;
  for (std::uint32_t chunk = 0; chunk < layout_.chunk_count(); ++chunk) {
    sums.local_gradient_sqr_norm += segment_->rank_sqr_norms(chunk)[local_rank_];
    sums.global_gradient_sqr_norm += segment_->sqr_norm(chunk);
  }
  return sums;
}

}  // namespace scavenger::ps
