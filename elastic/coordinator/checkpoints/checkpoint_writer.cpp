#include "elastic/coordinator/checkpoints/checkpoint_writer.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

[[noreturn]] void refuse_checkpoint(std::string what) {
  throw ProtocolError({.what = std::move(what), .where = {}, .remedy = {}});
}

}  // namespace

CheckpointWriter::CheckpointWriter(EventLoop& loop, Disk& disk, const std::filesystem::path& folder,
                                   Retention retention, std::function<void()> safe,
                                   std::function<void(const CheckpointOutcome&)> done)
    : clock_(loop.clock()),
      store_(disk, folder, retention),
      safe_(std::move(safe)),
      done_(std::move(done)),
      thread_(loop.start_thread()) {}

void CheckpointWriter::begin(Checkpoint base, const ps::ChunkLayout& layout,
                             const std::vector<std::string>& state_names,
                             std::vector<ProcessName> holders,
                             std::optional<ProcessName> buffers_from, bool is_best) {
  SCAVENGER_CHECK(!round_ && holders.size() == layout.shard_count());
  round_ = std::make_unique<Round>(std::move(base), layout, state_names);
  round_->missing_copies.insert(holders.begin(), holders.end());
  if (buffers_from) round_->missing_copies.insert(*buffers_from);
  round_->holders = std::move(holders);
  round_->start_seconds = clock_.now_seconds();
  round_->outcome.iteration = round_->collector.checkpoint().iteration;
  round_->outcome.is_best = is_best;
}

CheckpointWriter::Round& CheckpointWriter::round() {
  if (!round_) refuse_checkpoint("state came that nobody asked for");
  return *round_;
}

void CheckpointWriter::state_copied(const ProcessName& holder, const SnapshotTaken& message) {
  shard_of(holder);
  if (message.iteration != round().outcome.iteration)
    refuse_checkpoint("a copy was made that nobody asked for");
  round().collector.set_optimizer_steps(message.optimizer_steps);
  copied(holder);
}

void CheckpointWriter::buffers_arrived(const ProcessName& worker, std::vector<float> values) {
  if (worker.role != Role::kWorker) refuse_checkpoint("buffers came that nobody asked for");
  round().collector.set_buffers(std::move(values));
  copied(worker);
}

void CheckpointWriter::copied(const ProcessName& process) {
  const auto copy = round_->missing_copies.find(process);
  if (copy == round_->missing_copies.end())
    refuse_checkpoint("state was copied twice, or by whom nobody asked");
  round_->missing_copies.erase(copy);
  if (!round_->missing_copies.empty()) return;
  round_->outcome.stall_seconds = clock_.now_seconds() - round_->start_seconds;
  if (!round_->outcome.by_loss) safe_();
  write_if_complete();
}

// Which shard's chunks a process has.
std::uint32_t CheckpointWriter::shard_of(const ProcessName& holder) {
  const std::vector<ProcessName>& holders = round().holders;
  const auto found = std::ranges::find(holders, holder);
  if (found == holders.end()) refuse_checkpoint("state came from a process that has none of it");
  return static_cast<std::uint32_t>(found - holders.begin());
}

std::span<std::byte> CheckpointWriter::destination(const ProcessName& holder,
                                                   const FrameHeader& header) {
  const std::uint32_t shard = shard_of(holder);
  return round().collector.destination(shard, header);
}

void CheckpointWriter::arrived(const FrameHeader& header) {
  round().collector.arrived(header);
  write_if_complete();
}

void CheckpointWriter::lose(const ProcessName& process) {
  if (!round_ || round_->writing) return;
  bool owes_some = round_->missing_copies.erase(process) > 0;
  for (std::uint32_t shard = 0; shard < round_->holders.size(); ++shard) {
    if (round_->holders[shard] != process) continue;
    owes_some |= round_->collector.misses_pieces_of(shard);
    round_->collector.give_up(shard);
  }
  if (!owes_some) return;
  round_->outcome.by_loss = true;
  round_->outcome.error = process.text() + " was lost, which had a part of it";
  write_if_complete();
}

void CheckpointWriter::write_if_complete() {
  if (!round_->missing_copies.empty() || !round_->collector.complete()) return;
  if (round_->outcome.by_loss) return end(round_->outcome);
  round_->writing = true;
  const auto outcome = std::make_shared<CheckpointOutcome>(round_->outcome);
  thread_->run([this, outcome] { write(*outcome); }, [this, outcome] { end(std::move(*outcome)); });
}

// On the thread.
void CheckpointWriter::write(CheckpointOutcome& outcome) {
  try {
    outcome.written = store_.write(round_->collector.checkpoint(), outcome.is_best);
  } catch (const Error& failure) {
    outcome.error = failure.what();
  }
}

void CheckpointWriter::end(CheckpointOutcome outcome) {
  outcome.write_seconds = clock_.now_seconds() - round_->start_seconds;
  round_.reset();
  done_(outcome);
}

void CheckpointWriter::find_last(std::function<void(const Error&)> damaged,
                                 std::function<void(std::optional<LoadedCheckpoint>)> found) {
  struct Search {
    std::vector<Error> problems;
    std::optional<LoadedCheckpoint> last;
  };
  const auto search = std::make_shared<Search>();
  const auto look = [this, search] {
    const auto note = [&](const Error& error) { search->problems.push_back(error); };
    try {
      search->last = store_.load_latest_good(note);
    } catch (const Error& error) {  // all are damaged
      note(error);
    }
  };
  thread_->run(look, [search, damaged = std::move(damaged), found = std::move(found)] {
    for (const Error& problem : search->problems) damaged(problem);
    found(std::move(search->last));
  });
}

}  // namespace scavenger::elastic
