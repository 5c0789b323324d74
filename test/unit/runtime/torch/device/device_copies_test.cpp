// What goes between the host and a device, on the CPU: weights, gradients, batches, buffers.
#include <ATen/ops/full.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "ps/core/kernels.h"
#include "runtime/torch/device/device_mirror.h"
#include "runtime/torch/trainer/batch_stage.h"
#include "runtime/torch/trainer/flat_buffers.h"
#include "test/unit/ps/core/random_floats.h"
#include "test/unit/runtime/torch/trainer/random_batch.h"

using namespace scavenger;

namespace {

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// Stands in for the run-time library of a device: notes what is pinned.
struct Pins {
  HostPinning port(bool works) {
    return {[this, works](void* first, std::size_t) {
              ++tries;
              if (works) pinned.insert(first);
              return works;
            },
            [this](void* first) { CHECK(pinned.erase(first) == 1); }};
  }
  std::set<void*> pinned;
  int tries = 0;
};

}  // namespace

TEST_CASE("a mirror brings weights there, and gradients back in the order of their making") {
  const bool can_pin = GENERATE(false, true);
  Pins pins;
  DeviceMirror mirror(at::kCPU, 32, pins.port(can_pin), DeviceMirror::Transport::kFloat32,
                      /*piece_floats=*/1);
  std::vector<float> weights(32, 3.0F), gradients(32, 7.0F);
  Ranges told;
  const GradientReady ready = [&](std::uint64_t first, std::uint64_t last) {
    told.emplace_back(first, last);
  };

  mirror.bring_weights(weights);
  CHECK(mirror.weights().eq(3.0).all().item<bool>());
  mirror.begin(gradients, ready);
  mirror.gradients().narrow(0, 16, 16).fill_(1.0);
  mirror.gradient_ready(16, 32);
  CHECK(gradients[15] == 7.0F);
  CHECK(gradients[16] == 1.0F);
  mirror.gradients().narrow(0, 0, 16).fill_(2.0);
  mirror.gradient_ready(0, 16);
  mirror.finish({});

  CHECK(gradients[0] == 2.0F);
  CHECK(told == Ranges{{16, 32}, {0, 16}});
}

TEST_CASE("weights that were fetched in parts are not copied again, and others are") {
  const bool can_pin = GENERATE(false, true);
  Pins pins;
  DeviceMirror mirror(at::kCPU, 32, pins.port(can_pin));
  std::vector<float> even(32, 1.0F), odd(32, 2.0F);
  mirror.bring_weights(even);

  mirror.fetch_weights(odd, 16, 32);
  CHECK(mirror.weights().eq(1.0).all().item<bool>());  // a pass may be using them
  mirror.fetch_weights(odd, 0, 16);
  odd[0] = 9.0F;  // would show if it were copied again
  mirror.bring_weights(odd);
  CHECK(mirror.weights().eq(2.0).all().item<bool>());
  mirror.bring_weights(odd);  // once more, as for an evaluation
  CHECK(mirror.weights()[0].item<float>() == 9.0F);

  mirror.fetch_weights(even, 0, 16);  // of an iteration that was given up
  mirror.bring_weights(odd);
  CHECK(mirror.weights()[1].item<float>() == 2.0F);
  mirror.fetch_weights(even, 0, 16);
  mirror.release();
  std::ranges::fill(even, 4.0F);
  mirror.bring_weights(even);
  CHECK(mirror.weights().eq(4.0).all().item<bool>());
  mirror.fetch_weights(odd, 0, 16);
  std::ranges::fill(odd, 5.0F);
  mirror.bring_weights(odd);  // not all of it was fetched
  CHECK(mirror.weights().eq(5.0).all().item<bool>());
}

TEST_CASE("a host that waits for gradients works with those that have arrived") {
  Pins pins;
  DeviceMirror mirror(at::kCPU, 48, pins.port(false), DeviceMirror::Transport::kFloat32,
                      /*piece_floats=*/32);
  std::vector<float> gradients(48), next(48, 3.0F);
  mirror.bring_weights(next);
  Ranges told, stepped;
  const GradientReady ready = [&](std::uint64_t first, std::uint64_t last) {
    told.emplace_back(first, last);
  };
  const auto step = [&] {
    if (stepped.size() == told.size()) return false;
    const auto [first, last] = stepped.emplace_back(told[stepped.size()]);
    for (std::uint64_t i = first; i < last; ++i) next[i] = 4.0F;
    mirror.fetch_weights(next, first, last);
    return true;
  };

  mirror.begin(gradients, ready);
  mirror.gradient_ready(16, 48);
  mirror.gradient_ready(0, 16);  // too small to leave alone before the end
  CHECK(told == Ranges{{16, 48}});
  CHECK(stepped.empty());
  mirror.finish(step);

  CHECK(told == Ranges{{16, 48}, {0, 16}});
  CHECK(stepped == Ranges{{16, 48}});
  CHECK(mirror.weights().eq(3.0).all().item<bool>());  // those of the pass
  CHECK(step());
  mirror.bring_weights(next);
  CHECK(mirror.weights().eq(4.0).all().item<bool>());
}

TEST_CASE("small gradients leave together with their neighbours") {
  Pins pins;
  DeviceMirror mirror(at::kCPU, 96, pins.port(false), DeviceMirror::Transport::kFloat32,
                      /*piece_floats=*/32);
  std::vector<float> gradients(96, 7.0F);
  Ranges told;
  const GradientReady ready = [&](std::uint64_t first, std::uint64_t last) {
    told.emplace_back(first, last);
  };
  mirror.gradients().fill_(1.0);

  mirror.begin(gradients, ready);
  mirror.gradient_ready(80, 96);
  CHECK(told.empty());
  mirror.gradient_ready(64, 80);  // before it: 32 floats in one piece
  CHECK(told == Ranges{{64, 96}});
  mirror.gradient_ready(16, 32);
  mirror.gradient_ready(48, 64);  // no neighbour: the one before leaves alone
  mirror.gradient_ready(32, 48);
  mirror.gradient_ready(0, 16);
  mirror.finish({});

  CHECK(told == Ranges{{64, 96}, {16, 32}, {32, 64}, {0, 16}});
  CHECK(gradients == std::vector<float>(96, 1.0F));
}

TEST_CASE("what travels as bfloat16 is rounded as on the wire, and is not rounded again there") {
  constexpr std::size_t kCount = 1000;
  Pins pins;
  DeviceMirror mirror(at::kCPU, kCount, pins.port(true), DeviceMirror::Transport::kBfloat16);
  std::vector<float> weights = ps::random_floats(kCount, 3), rounded(kCount), gradients(kCount);
  weights[0] = 1.00390625F;  // exactly between two numbers of bfloat16: to the even one
  weights[1] = 1.01171875F;
  const auto on_wire = [](const std::vector<float>& floats) {
    std::vector<ps::Bfloat16> wire(floats.size());
    std::vector<float> back(floats.size());
    ps::best_kernels().to_bfloat16(floats.data(), wire.data(), floats.size());
    ps::best_kernels().from_bfloat16(wire.data(), back.data(), back.size());
    return back;
  };
  const auto there = [&] {
    const float* const first = mirror.weights().const_data_ptr<float>();
    return std::vector<float>(first, first + kCount);
  };
  mirror.bring_weights(weights);
  CHECK(there() == on_wire(weights));
  CHECK(there()[0] == 1.0F);
  CHECK(there()[1] == 1.015625F);
  CHECK_FALSE(there() == weights);
  mirror.fetch_weights(weights, 500, kCount);
  mirror.fetch_weights(weights, 0, 500);
  mirror.bring_weights(weights);
  CHECK(there() == on_wire(weights));
  rounded = on_wire(weights);
  mirror.bring_weights(rounded);  // as they come from the wire
  CHECK(there() == rounded);

  const std::vector<float> computed = ps::random_floats(kCount, 4);
  std::ranges::copy(computed, mirror.gradients().data_ptr<float>());
  const GradientReady nobody;
  mirror.begin(gradients, nobody);
  mirror.gradient_ready(0, kCount);
  mirror.finish({});
  CHECK(gradients == on_wire(computed));
  CHECK(on_wire(gradients) == gradients);  // a shard gets what it would get without this
}

TEST_CASE("vectors of the host are pinned once each, and released before they may be freed") {
  Pins pins;
  DeviceMirror mirror(at::kCPU, 16, pins.port(true));
  std::vector<float> even(16, 1.0F), odd(16, 2.0F), gradients(16);
  const GradientReady nobody;

  for (int iteration = 0; iteration < 4; ++iteration) {
    mirror.bring_weights(iteration % 2 == 0 ? even : odd);
    mirror.begin(gradients, nobody);
    mirror.gradient_ready(0, 16);
    mirror.finish({});
  }
  CHECK(pins.tries == 3);
  CHECK(pins.pinned.size() == 3);
  mirror.settle();  // at a reshape that leaves the memory where it is
  mirror.bring_weights(odd);
  CHECK(pins.tries == 3);
  CHECK(mirror.weights().eq(2.0).all().item<bool>());
  mirror.release();
  CHECK(pins.pinned.empty());

  mirror.bring_weights(even);
  CHECK(pins.pinned.size() == 1);
}

TEST_CASE("memory that cannot be pinned is not tried again in each iteration") {
  Pins pins;
  DeviceMirror mirror(at::kCPU, 16, pins.port(false));
  std::vector<float> weights(16);
  for (int iteration = 0; iteration < 3; ++iteration) mirror.bring_weights(weights);
  CHECK(pins.tries == 1);
}

TEST_CASE("a batch that was brought ahead is the one that is trained on, and no other") {
  DataShape shape;
  const bool is_text = GENERATE(false, true);
  if (is_text)
    shape = {{7}, 15, TargetKind::kSequence, 12, {9}};
  else
    shape = {{2, 3}, 0, TargetKind::kLabel, 4, {}};
  BatchStage stage(shape, at::kCPU, 2);
  std::vector<Batch> batches;
  for (std::uint32_t i = 0; i < 4; ++i) {
    batches.push_back(random_batch(shape, 6, i));
    batches.back().first_position = 6 * i;
  }
  const auto is_same = [&](const BatchTensors& brought, const Batch& batch) {
    const BatchTensors expected = tensors_of(batch, shape, 0, batch.size, at::kCPU);
    return brought.input.samples.equal(expected.input.samples) &&
           brought.targets.equal(expected.targets) &&
           (!is_text || brought.input.predicted.equal(expected.input.predicted));
  };

  Batch reused = batches[0];  // as the loader reuses its buffers
  stage.bring(reused);
  reused = batches[1];
  stage.bring(reused);
  const auto first = stage.take(batches[0]);
  REQUIRE(first);
  CHECK(is_same(*first, batches[0]));
  CHECK_FALSE(stage.take(batches[0]));  // it is gone

  stage.bring(batches[2]);
  stage.bring(batches[3]);  // the second one has to make way
  CHECK_FALSE(stage.take(batches[1]));
  Batch part = batches[2];
  part.size = 3;
  CHECK_FALSE(stage.take(part));
  const auto last = stage.take(batches[3]);
  REQUIRE(last);
  CHECK(is_same(*last, batches[3]));
  CHECK_FALSE(stage.take(batches[2]));  // what was before it is forgotten
}

TEST_CASE("buffers in one vector are read, written, kept and restored") {
  std::vector<NamedTensor> buffers = {{"mean", at::full({3}, 1.0), {}, 0},
                                      {"count", at::full({2, 2}, 2.0), {}, 1}};
  TensorLayout layout;
  layout.add("mean", {3});
  layout.add("count", {2, 2});
  FlatBuffers flat(buffers, layout);
  std::vector<float> values(layout.flat_size(), 9.0F);

  flat.read(values);
  CHECK(values[2] == 1.0F);
  CHECK(values[3] == 0.0F);  // the gap
  CHECK(values[layout.tensors()[1].offset] == 2.0F);

  flat.keep();
  const at::Tensor copied = flat.copy();
  buffers[0].tensor.fill_(5.0);  // as a layer does
  std::vector<float> kept(values.size());
  flat.read_kept(kept);
  CHECK(kept == values);
  flat.restore(copied);
  CHECK(buffers[0].tensor.eq(1.0).all().item<bool>());

  std::vector<float> other(values.size(), 4.0F);
  flat.write(other);
  CHECK(buffers[1].tensor.eq(4.0).all().item<bool>());
  flat.read(values);
  CHECK(values[3] == 0.0F);  // gaps stay zero
}
