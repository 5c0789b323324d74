// How fast one thread sums K gradients, takes their norms, and makes an SGD-momentum step, against
// memcpy over as much memory. Prints a table, or JSON; takes about a minute.
//
//   reduction_bench [--instruction-set portable|AVX2|AVX-512] [--megabytes 1 11 45] [--workers 1 2
//   4]

#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ps/core/chunk_layout.h"
#include "ps/core/float_buffer.h"
#include "ps/core/kernels.h"
#include "ps/core/reduction.h"

namespace scavenger::ps {
namespace {

constexpr std::uint64_t kChunkBytes = 1 << 20;
constexpr int kRounds = 31;
constexpr double kMillisecondsPerRound = 10.0;

FloatBuffer filled_buffer(std::uint64_t size) {
  FloatBuffer buffer(size);
  std::ranges::fill(buffer.span(), 1e-3F);
  return buffer;
}

// A model of `size` floats with K workers' gradients, updated chunk by chunk.
class Subject final {
 public:
  Subject(std::uint64_t size, std::size_t workers, const Kernels& kernels)
      : layout_(size, kChunkBytes, 1),
        reducer_(kernels),
        weights_(filled_buffer(size)),
        momentum_(filled_buffer(size)),
        sqr_norms_(workers) {
    for (std::size_t k = 0; k < workers; ++k) gradients_.push_back(filled_buffer(size));
  }

  void update(bool with_norms) {
    const OptimizerStep step = optimizer_.step(1e-3, 2);
    std::vector<Contribution> contributions(gradients_.size());
    const Version version{weights_.span(), {momentum_.span(), {}}};
    for (std::uint32_t chunk = 0; chunk < layout_.chunk_count(); ++chunk) {
      const auto [first, size] = layout_.range(chunk);
      for (std::size_t k = 0; k < gradients_.size(); ++k) {
        contributions[k] = {.gradient = gradients_[k].span().data() + first,
                            .share = 1.0F / static_cast<float>(gradients_.size())};
      }
      const Version chunk_version = version.part(first, size);
      reducer_.update(contributions, step, chunk_version, chunk_version,
                      with_norms ? std::span<double>(sqr_norms_) : std::span<double>());
    }
  }

 private:
  Optimizer optimizer_{{.momentum = 0.9, .weight_decay = 1e-4, .schedule = {}}};
  ChunkLayout layout_;
  ChunkReducer reducer_;
  FloatBuffer weights_, momentum_;
  std::vector<FloatBuffer> gradients_;
  std::vector<double> sqr_norms_;
};

// Of this thread's processor time, so that what others take of the machine does not count.
double thread_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double milliseconds(const std::function<void()>& work, int repeats) {
  const double start = thread_milliseconds();
  for (int i = 0; i < repeats; ++i) work();
  return (thread_milliseconds() - start) / repeats;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The candidates take turns, so that a change in the machine's load falls on all of them.
std::vector<double> median_milliseconds(const std::vector<std::function<void()>>& candidates) {
  std::vector<int> repeats;
  for (const auto& candidate : candidates) {
    candidate();
    const double once = milliseconds(candidate, 1);
    repeats.push_back(std::max(1, static_cast<int>(kMillisecondsPerRound / once)));
  }
  std::vector<std::vector<double>> times(candidates.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      times[c].push_back(milliseconds(candidates[c], repeats[c]));
    }
  }
  std::vector<double> medians;
  for (const auto& of_candidate : times) medians.push_back(median(of_candidate));
  return medians;
}

struct Row {
  double megabytes = 0.0;
  std::size_t workers = 1;
  double milliseconds = 0.0;
  double milliseconds_without_norms = 0.0;
  double gigabytes_per_second = 0.0;  // read and written
  double memcpy_gigabytes_per_second = 0.0;
};

Row measure(double megabytes, std::size_t workers, const Kernels& kernels) {
  const auto size = static_cast<std::uint64_t>(megabytes * 1e6 / sizeof(float)) / kLanes * kLanes;
  Subject subject(size, workers, kernels);
  // memcpy over as many bytes of memory as the update touches: K gradients, weights, momentum.
  const std::uint64_t copied = (workers + 2) * size / 2;
  FloatBuffer source = filled_buffer(copied), destination = filled_buffer(copied);

  const auto times = median_milliseconds(
      {[&] { subject.update(true); }, [&] { subject.update(false); },
       [&] { std::memcpy(destination.span().data(), source.span().data(), 4 * copied); }});

  const auto gigabytes_per_second = [](double floats, double ms) { return 4e-6 * floats / ms; };
  // Read K gradients, weights and momentum; write weights and momentum.
  const double moved = static_cast<double>((workers + 4) * size);
  return {megabytes,
          workers,
          times[0],
          times[1],
          gigabytes_per_second(moved, times[0]),
          gigabytes_per_second(2.0 * static_cast<double>(copied), times[2])};
}

void print_json(const Row& row) {
  fmt::print(
      R"({{"megabytes": {}, "workers": {}, "ms": {}, "ms_without_norms": {}, "gigabytes_per_second": {}, "memcpy_gigabytes_per_second": {}}})"
      "\n",
      row.megabytes, row.workers, row.milliseconds, row.milliseconds_without_norms,
      row.gigabytes_per_second, row.memcpy_gigabytes_per_second);
}

void print_row(const Row& row) {
  const double norms = 100.0 * (row.milliseconds / row.milliseconds_without_norms - 1.0);
  fmt::print("{:>5} {:>3} {:>10.3f} {:>10.3f} {:>8.1f} % {:>10.1f} {:>10.1f} {:>8.2f}\n",
             row.megabytes, row.workers, row.milliseconds, row.milliseconds_without_norms, norms,
             row.gigabytes_per_second, row.memcpy_gigabytes_per_second,
             row.gigabytes_per_second / row.memcpy_gigabytes_per_second);
}

void print_header(InstructionSet set) {
  fmt::print("Sum + norms + SGD-momentum step, one thread, {}, chunks of 1 MiB.\n", name_of(set));
  fmt::print("GB/s count bytes read and written. memcpy is over as much memory.\n\n");
  fmt::print("{:>5} {:>3} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8}\n", "MB", "K", "ms", "no norms",
             "norms", "GB/s", "memcpy", "ratio");
}

}  // namespace
}  // namespace scavenger::ps

int main(int argc, char** argv) {
  using namespace scavenger;
  using namespace scavenger::ps;
  CLI::App app("How fast one thread sums gradients, takes their norms, and steps the weights.");
  std::map<std::string, InstructionSet> sets;
  for (const InstructionSet set : supported_instruction_sets())
    sets[std::string(name_of(set))] = set;
  InstructionSet set = supported_instruction_sets().back();
  std::vector<double> megabytes = {1, 11, 45};
  std::vector<std::size_t> workers = {1, 2, 4};
  bool json = false;
  app.add_option("--instruction-set", set)->transform(CLI::CheckedTransformer(sets));
  app.add_option("--megabytes", megabytes, "sizes of the model");
  app.add_option("--workers", workers, "numbers of gradients");
  app.add_flag("--json", json, "a line of JSON for each case");
  CLI11_PARSE(app, argc, argv);
  if (!json) print_header(set);
  for (const double size : megabytes)
    for (const std::size_t count : workers) {
      const Row row = measure(size, count, kernels(set));
      if (json)
        print_json(row);
      else
        print_row(row);
    }
  return 0;
}
