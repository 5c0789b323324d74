// scavenger-worker: computes gradients on its share of each batch, with LibTorch. Started by
// scavenger-train.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "apps/command_line/job_process.h"
#include "apps/worker_process/all_reduce.h"
#include "apps/worker_process/worker_process.h"
#include "ps/collective/host_replica.h"
#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/config/placement.h"
#include "runtime/process/task_ticket.h"
#include "runtime/torch/c10d/c10d.h"
#include "runtime/torch/trainer/tensor_replica.h"
#include "runtime/torch/trainer/torch_trainer.h"

namespace scavenger {
namespace {

// Nobody else can know where in the store the workers meet.
std::string secret_key_prefix(const JobCredentials& credentials) {
  const Digest digest =
      hmac_sha256(credentials.secret, std::as_bytes(std::span("all-reduce meeting place")));
  return sha256_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

C10dOptions collective_options(const AllReduceParts& parts, const DevicePlace& place,
                               SyncStrategy backend) {
  const JobConfig& config = parts.config;
  C10dOptions options;
  options.backend = backend;
  options.address = parts.ticket.listen_host;
  options.key_prefix = secret_key_prefix(parts.ticket.credentials);
  options.operation_seconds = config.limits.iteration_seconds;
  options.gpu = place.gpu;
  return options;
}

std::unique_ptr<Synchroniser> make_all_reduce(const AllReduceParts& parts,
                                              const DevicePlace& place) {
  const JobConfig& config = parts.config;
  const ps::ChunkLayout layout = whole_layout(parts);
  const C10dOptions options = collective_options(parts, place, config.sync.strategy);
  std::unique_ptr<Replica> replica;
  if (config.sync.strategy == SyncStrategy::kNccl)
    replica = make_tensor_replica(layout.flat_size(), config.optimizer, place);
  else
    replica = std::make_unique<ps::HostReplica>(layout, config.optimizer);
  return make_collective_synchroniser(parts, std::move(replica), make_c10d_collective(options));
}

// The shards make the step: the replica has weights and gradients only.
HostSum make_host_sum(const AllReduceParts& parts, const DevicePlace& place) {
  OptimizerConfig no_state;
  no_state.type = OptimizerType::kSgd;
  no_state.momentum = 0.0;
  const bool is_nccl = parts.config.sync.hierarchy == SyncHierarchy::kNccl;
  const SyncStrategy backend = is_nccl ? SyncStrategy::kNccl : SyncStrategy::kGloo;
  return {make_tensor_replica(parts.trainer.parameters().flat_size(), no_state, place),
          make_c10d_collective(collective_options(parts, place, backend))};
}

// Whether vectors stay on the GPU. Otherwise they are in host memory, and the GPU gets copies.
bool stays_on_device(const SyncConfig& sync) {
  return sync.strategy == SyncStrategy::kNccl || sync.hierarchy == SyncHierarchy::kNccl;
}

Computation make_computation(const ComputationSite& site) {
  const JobConfig& config = site.config;
  TorchTrainerOptions options;
  options.model = config.model;
  options.loss = config.loss;
  options.compute = config.compute;
  options.data = site.train.shape();
  if (options.data.target == TargetKind::kSequence)
    options.beam_width = config.evaluation.beam_width;
  options.seed = config.seed;
  options.threads = site.ticket.threads;
  const bool stays_on_gpu = stays_on_device(config.sync);
  options.place = choose_device(stays_on_gpu ? Device::kCuda : config.device, site.ticket.index);
  options.transport = config.sync.wire_precision;
  options.vectors = stays_on_gpu ? VectorHome::kDevice : VectorHome::kHost;
  Computation computation;
  options.say = [](const std::string& text) { log_info("{}", text); };
  options.tell = site.tell;
  computation.trainer = make_torch_trainer(options);
  computation.use_threads = use_torch_threads;
  computation.in_parallel = on_torch_threads;
  computation.place = options.place.text() + ", products in " +
                      products_text(config.compute.precision, options.place);
  const ImagePreparation images = config.compute.prepare_images;
  computation.prepares_images = images == ImagePreparation::kDevice ||
                                (images == ImagePreparation::kAutomatic && options.place.is_gpu);
  if (options.place.is_gpu)
    computation.expect = [&trainer = *computation.trainer](const Batch& batch) {
      trainer.expect(batch);
    };
  if (config.sync.strategy == SyncStrategy::kParameterServer && !adds_up_by_collective(config))
    return computation;
  std::shared_ptr<MeetingPlace> meeting_place = open_meeting_place(site.ticket.listen_host);
  computation.meeting_port = meeting_place->port();
  computation.make_all_reduce = [meeting_place,
                                 place = options.place](const AllReduceParts& parts) {
    return make_all_reduce(parts, place);
  };
  computation.make_host_sum = [meeting_place, place = options.place](const AllReduceParts& parts) {
    return make_host_sum(parts, place);
  };
  return computation;
}

// Replaces this process by the program beside it, which reads the same ticket.
[[noreturn]] void become_task(const LaunchTicket& ticket) {
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "scavenger-task";
  const std::string text = encode(ticket);
  const int input = ::memfd_create("launch ticket", 0);
  const bool is_written = ::write(input, text.data(), text.size()) == std::ssize(text);
  if (is_written && ::lseek(input, 0, SEEK_SET) == 0 && ::dup2(input, STDIN_FILENO) >= 0)
    ::execl(program.c_str(), "scavenger-task", nullptr);
  throw SystemError(errno, {.what = "cannot start", .where = program.string(), .remedy = {}});
}

int run_worker(const LaunchTicket& ticket) {
  if (ticket.config == kTaskTicketConfig) become_task(ticket);
  return run_worker_process(ticket, make_computation);
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  return scavenger::run_job_process("scavenger-worker", argc, argv, scavenger::run_worker);
}
