// One rank of DDP's engine without Python: c10d::Reducer over ProcessGroupGloo, on loopback. A
// process of a crew (crew.py), with the arguments and the command "sync N" of ddp_worker.py.
//
//   reducer_worker MODEL BATCH THREADS RANK WORLD PORT
//
// As DDP with gradient_as_bucket_view, its fastest setting; BatchNorm's statistics are not sent
// around, which DDP does.

#include <ATen/Parallel.h>
#include <torch/optim/sgd.h>

#include <iomanip>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "test/bench/reducer/peer_models.h"

namespace scavenger::bench {
namespace {

constexpr int kBatches = 16;

struct Options {
  std::string model;
  std::int64_t batch = 0;
  int threads = 1;
  int rank = 0;
  int world = 1;
  std::uint16_t port = 0;
};

c10::intrusive_ptr<c10d::ProcessGroup> make_group(const Options& options) {
  c10d::TCPStoreOptions store_options;
  store_options.port = options.port;
  store_options.isServer = options.rank == 0;
  store_options.numWorkers = static_cast<std::size_t>(options.world);
  auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", store_options);
  auto gloo_options = c10d::ProcessGroupGloo::Options::create();
  gloo_options->devices = {c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")};
  auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, options.rank, options.world,
                                                          std::move(gloo_options));
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, options.rank, options.world);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
  return group;
}

// Buckets as DistributedDataParallel makes them: one for all at first, rebuilt after an iteration.
std::unique_ptr<c10d::Reducer> make_reducer(const std::vector<at::Tensor>& parameters,
                                            c10::intrusive_ptr<c10d::ProcessGroup> group) {
  const auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
      parameters, {std::numeric_limits<std::size_t>::max()});
  std::vector<std::vector<std::size_t>> reversed(buckets.rbegin(), buckets.rend());
  return std::make_unique<c10d::Reducer>(
      parameters, std::move(reversed), std::move(group),
      std::vector<bool>(parameters.size(), false), c10d::kDefaultBucketBytesCap, false, true,
      std::unordered_map<std::size_t, std::string>{}, c10d::kDefaultFirstBucketBytes, false, false,
      std::vector<std::int64_t>{});
}

class Rank final {
 public:
  explicit Rank(const Options& options)
      : model_(make_model(options.model)),
        group_(make_group(options)),
        reducer_(make_reducer(model_->parameters(), group_)),
        optimizer_(model_->parameters(), torch::optim::SGDOptions(1e-3).momentum(0.9)) {
    std::vector<std::int64_t> shape = shape_of(options.model);
    shape.insert(shape.begin(), options.batch);
    for (int i = 0; i < kBatches; ++i)
      batches_.emplace_back(torch::randn(shape), torch::randint(0, 10, {options.batch}));
  }

  void iterate() {
    const auto& [features, labels] = batches_[iteration_++ % kBatches];
    // Optimizer::zero_grad() would detach them, which views of the reducer's buckets do not allow.
    for (const torch::Tensor& parameter : model_->parameters())
      if (parameter.grad().defined()) parameter.grad().zero_();
    reducer_->prepare_for_forward();
    reducer_->rebuild_buckets();
    const torch::Tensor loss =
        torch::nn::functional::cross_entropy(model_->forward(features), labels);
    loss.item<float>();
    reducer_->prepare_for_backward({});
    loss.backward();
    optimizer_.step();
  }

  void barrier() { group_->barrier()->wait(); }

 private:
  torch::nn::Sequential model_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::unique_ptr<c10d::Reducer> reducer_;
  torch::optim::SGD optimizer_;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> batches_;
  std::size_t iteration_ = 0;
};

void work(const Options& options) {
  at::set_num_threads(options.threads);
  torch::manual_seed(1);
  Rank rank(options);
  const SteadyClock clock;
  std::cout << "ready" << std::endl;
  std::string command;
  for (int iterations = 0; std::cin >> command >> iterations;) {
    rank.barrier();
    const double begin = clock.now_seconds();
    for (int i = 0; i < iterations; ++i) rank.iterate();
    std::cout << std::fixed << std::setprecision(9) << "{\"iterations\": " << iterations
              << ", \"begin\": " << begin << ", \"end\": " << clock.now_seconds() << "}"
              << std::endl;
  }
}

}  // namespace
}  // namespace scavenger::bench

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "usage: reducer_worker MODEL BATCH THREADS RANK WORLD PORT\n";
    return 2;
  }
  scavenger::bench::work({argv[1], std::stoll(argv[2]), std::stoi(argv[3]), std::stoi(argv[4]),
                          std::stoi(argv[5]), static_cast<std::uint16_t>(std::stoi(argv[6]))});
  return 0;
}
