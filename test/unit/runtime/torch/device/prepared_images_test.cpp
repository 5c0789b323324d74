// Images that are cropped, mirrored and normalised by LibTorch's operators have the bits of those
// that the loader prepares.
#include "runtime/torch/device/prepared_images.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/base/random.h"
#include "runtime/data/batch_assembler.h"
#include "runtime/torch/trainer/batch_stage.h"
#include "runtime/torch/trainer/batch_tensors.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/data/data_files.h"

using namespace scavenger;

namespace {

constexpr std::uint32_t kImages = 40, kChannels = 3, kHeight = 7, kWidth = 5;

at::Device tested_device() {
  const char* const wanted = std::getenv("SCAVENGER_TEST_DEVICE");
  return at::Device(wanted == nullptr ? "cpu" : wanted);
}

DataConfig image_data(const std::filesystem::path& folder) {
  RandomStream stream(5, "test images");
  std::string pixels(kImages * kChannels * kHeight * kWidth, '\0');
  for (char& pixel : pixels) pixel = static_cast<char>(stream.below(256));
  DataConfig config;
  config.classes = 2;
  config.train = write_small_idx(folder);
  write_file_atomically(config.train.features,
                        idx_content({kImages, kChannels, kHeight, kWidth}, pixels));
  write_file_atomically(config.train.labels, idx_content({kImages}, std::string(kImages, '\1')));
  config.scale = 1.0 / 255.0;
  return config;
}

}  // namespace

TEST_CASE("images that are prepared on a device have the bits of those that the loader prepares") {
  const TemporaryFolder folder;
  DataConfig config = image_data(folder.path());
  const int variant = GENERATE(0, 1, 2, 3);
  if (variant > 0)
    config.normalise = NormaliseConfig{.mean = {0.4914, 0.4822, 0.4465},
                                       .standard_deviation = {0.247, 0.2435, 0.2616}};
  if (variant == 1) config.normalise = NormaliseConfig{.mean = {0.3}, .standard_deviation = {0.7}};
  if (variant > 1) config.augment.flip = true;
  if (variant > 2) config.augment.crop_padding = 2;
  const DataSet data = DataSet::open(config, Split::kTrain, folder.path() / "cache");
  Batch ready, raw;
  BatchAssembler::for_training(data, config, 11).assemble(BatchPlace::whole(30, 64), ready);
  BatchAssembler::for_training(data, config, 11, /*leaves_images_raw=*/true)
      .assemble(BatchPlace::whole(30, 64), raw);
  REQUIRE(raw.features.empty());
  REQUIRE(raw.raw_images.bytes.size() == ready.features.size());

  const at::Tensor expected = tensors_of(ready, data.shape(), 0, 64, at::kCPU).input.samples;
  const at::Device device = tested_device();
  const BatchTensors there = tensors_of(raw, data.shape(), 0, 64, device);
  CHECK(there.input.samples.device().type() == device.type());
  CHECK(there.input.samples.cpu().equal(expected));
  const BatchTensors part = tensors_of(raw, data.shape(), 5, 12, device);
  CHECK(part.input.samples.cpu().equal(expected.narrow(0, 5, 7)));

  BatchStage stage(data.shape(), device, 1);
  stage.bring(raw);
  const auto staged = stage.take(raw);
  REQUIRE(staged);
  CHECK(staged->input.samples.cpu().equal(expected));
  CHECK_FALSE(staged->raw_images.pixels.defined());
}

TEST_CASE("raw images may be floats, and other data are prepared by the loader in any case") {
  const TemporaryFolder folder;
  DataConfig config = image_data(folder.path());
  config.sample_shape = {kChannels * kHeight * kWidth};
  const DataSet flat = DataSet::open(config, Split::kTrain, folder.path() / "cache");
  Batch batch;
  BatchAssembler::for_training(flat, config, 11, /*leaves_images_raw=*/true)
      .assemble(BatchPlace::whole(0, 4), batch);
  CHECK(batch.raw_images.is_empty());
  CHECK_FALSE(batch.features.empty());

  RawImageTensors floats;
  floats.pixels = at::arange(8, at::kFloat).view({1, 1, 2, 4});
  floats.changes =
      at::tensor({0, 2, 1}, at::kInt).view({1, 3});  // down by one, left by one, mirrored
  floats.channels = at::tensor({2.0F, 1.0F, 0.5F}).view({1, 3});
  floats.padding = 1;
  const at::Tensor mirrored = prepared_images(floats);
  const at::Tensor expected =
      at::tensor({-0.5F, -0.5F, -0.5F, -0.5F, -0.5F, 2.5F, 1.5F, 0.5F}).view({1, 1, 2, 4});
  CHECK(mirrored.equal(expected));
}
