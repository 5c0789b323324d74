#include "runtime/data/batch_assembler.h"

#include <catch2/catch.hpp>
#include <set>
#include <tuple>

#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/data/data_files.h"

namespace scavenger {
namespace {

constexpr std::uint64_t kSeed = 11;

// Two-channel images of 3 rows and 4 columns with random bytes, augmented.
struct ImageJob {
  TemporaryFolder folder;
  DataConfig config;

  explicit ImageJob(std::uint32_t samples) {
    RandomStream stream(5, "test images");
    std::string pixels(samples * 24, '\0');
    for (char& pixel : pixels) pixel = static_cast<char>(stream.below(256));
    config.classes = 3;
    config.train = write_small_idx(folder.path());
    write_file_atomically(config.train.features, idx_content({samples, 2, 3, 4}, pixels));
    write_file_atomically(config.train.labels, idx_content({samples}, std::string(samples, '\1')));
    config.scale = 1.0 / 255.0;
    config.normalise = NormaliseConfig{.mean = {0.25, 0.5}, .standard_deviation = {0.5, 2.0}};
    config.augment = {.flip = true, .crop_padding = 2};
  }
  DataSet open() const { return DataSet::open(config, Split::kTrain, folder.path() / "cache"); }
};

// One pixel, by the definition: padded, cropped, then mirrored.
Approx expected_pixel(const DataSet& data, const DataConfig& config, std::uint32_t index,
                      const Augmentation& augmentation, int channel, int y, int x) {
  const int column = augmentation.flip ? 3 - x : x;
  const int source_y = y + static_cast<int>(augmentation.top) - 2;
  const int source_x = column + static_cast<int>(augmentation.left) - 2;
  const bool inside = source_y >= 0 && source_y < 3 && source_x >= 0 && source_x < 4;
  const int place = channel * 12 + source_y * 4 + source_x;
  const std::uint8_t raw =
      inside ? data.bytes(index)[static_cast<std::size_t>(place)] : std::uint8_t{0};
  const auto c = static_cast<std::size_t>(channel);
  return Approx((raw * config.scale - config.normalise->mean[c]) /
                config.normalise->standard_deviation[c])
      .margin(1e-6);
}

}  // namespace

TEST_CASE("Evaluation batches are the samples in the data set's own order, not augmented") {
  const ImageJob job(5);
  const DataSet data = job.open();
  BatchAssembler assembler = BatchAssembler::for_evaluation(data, job.config);
  Batch batch;

  assembler.assemble(BatchPlace::whole(3, 2), batch);

  CHECK(batch.first_position == 3);
  CHECK(batch.size == 2);
  CHECK(batch.sample_shape == std::vector<std::int64_t>{2, 3, 4});
  CHECK(batch.labels == std::vector<std::int64_t>{1, 1});
  REQUIRE(batch.features.size() == 48);
  const Augmentation none{.top = 2, .left = 2, .flip = false};
  for (int i = 0; i < 48; ++i)
    REQUIRE(batch.features[static_cast<std::size_t>(i)] ==
            expected_pixel(data, job.config, 3 + static_cast<std::uint32_t>(i / 24), none,
                           i / 12 % 2, i / 4 % 3, i % 4));
}

TEST_CASE("Training batches follow the sample order, each sample augmented by its own draw") {
  const ImageJob job(40);
  const DataSet data = job.open();
  BatchAssembler assembler = BatchAssembler::for_training(data, job.config, kSeed);
  SampleOrder order(kSeed, 40);
  Batch batch;

  assembler.assemble(BatchPlace::whole(0, 120), batch);

  for (std::uint32_t s = 0; s < 120; ++s) {
    const SampleDraw draw = order.at(s);
    const Augmentation augmentation =
        draw_augmentation(job.config.augment, kSeed, draw.epoch, draw.index);
    for (int i = 0; i < 24; ++i)
      REQUIRE(batch.features[s * 24 + static_cast<std::size_t>(i)] ==
              expected_pixel(data, job.config, draw.index, augmentation, i / 12, i / 4 % 3, i % 4));
  }
}

TEST_CASE("The slices of any number of workers make up the same global batch") {
  const ImageJob job(37);
  const DataSet data = job.open();
  BatchAssembler alone = BatchAssembler::for_training(data, job.config, kSeed);
  Batch whole;
  alone.assemble(BatchPlace::whole(1000, 64), whole);

  for (std::uint32_t workers = 1; workers <= 7; ++workers) {
    const std::vector<std::uint32_t> shares = split_batch(64, workers);
    CacheLineVector<float> features;
    std::vector<std::int64_t> labels;
    for (std::uint32_t rank = 0; rank < workers; ++rank) {
      BatchAssembler assembler = BatchAssembler::for_training(data, job.config, kSeed);
      const WorkerSlice slice = worker_slice(1000, shares, rank);
      Batch part;
      assembler.assemble({slice.first, slice.size, 1000, 64}, part);
      features.insert(features.end(), part.features.begin(), part.features.end());
      labels.insert(labels.end(), part.labels.begin(), part.labels.end());
    }

    REQUIRE(features == whole.features);
    REQUIRE(labels == whole.labels);
  }
}

TEST_CASE("Augmentation draws every place and both sides, anew in each epoch") {
  const AugmentConfig config{.flip = true, .crop_padding = 1};
  std::set<std::tuple<std::uint32_t, std::uint32_t, bool>> seen;
  int changed = 0;

  for (std::uint32_t sample = 0; sample < 500; ++sample) {
    const Augmentation now = draw_augmentation(config, kSeed, 0, sample);
    seen.insert({now.top, now.left, now.flip});
    changed += now != draw_augmentation(config, kSeed, 1, sample);
  }

  CHECK(seen.size() == 3 * 3 * 2);
  CHECK(changed > 400);
}

TEST_CASE("Float samples are scaled and normalised for each feature") {
  const TemporaryFolder folder;
  DataConfig config;
  config.classes = 2;
  config.train = write_csv(folder.path(), "10,20,0\n-4,6,1\n");
  config.scale = 0.5;
  config.normalise = NormaliseConfig{.mean = {1.0, 2.0}, .standard_deviation = {2.0, 4.0}};
  const DataSet data = DataSet::open(config, Split::kTrain, folder.path() / "cache");
  Batch batch;

  BatchAssembler::for_evaluation(data, config).assemble(BatchPlace::whole(0, 2), batch);

  CHECK(batch.features == CacheLineVector<float>{2.0f, 2.0f, -1.5f, 0.25f});
  CHECK(batch.labels == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("Float images can be augmented") {
  const TemporaryFolder folder;
  DataConfig config;
  config.classes = 2;
  config.train = write_csv(folder.path(), "1,2,3,4,0\n");
  config.sample_shape = {1, 2, 2};
  config.augment.crop_padding = 3;
  const DataSet data = DataSet::open(config, Split::kTrain, folder.path() / "cache");
  SampleTransform transform(data, config);
  std::vector<float> image(4);

  transform.write_augmented(0, {.top = 2, .left = 3, .flip = true}, image.data());
  CHECK(image == std::vector<float>{0.0f, 0.0f, 2.0f, 1.0f});

  transform.write_augmented(0, {.top = 6, .left = 0, .flip = false}, image.data());
  CHECK(image == std::vector<float>{0.0f, 0.0f, 0.0f, 0.0f});
}

TEST_CASE("A batch's buffers are used again") {
  const ImageJob job(40);
  const DataSet data = job.open();
  BatchAssembler assembler = BatchAssembler::for_training(data, job.config, kSeed);
  Batch batch;
  assembler.assemble(BatchPlace::whole(0, 16), batch);
  const float* buffer = batch.features.data();

  assembler.assemble(BatchPlace::whole(16, 16), batch);
  assembler.assemble(BatchPlace::whole(32, 10), batch);

  CHECK(batch.features.data() == buffer);
  CHECK(batch.features.size() == 240);
}

TEST_CASE("Samples of a data set in Python are numbers, of each split its own") {
  const TemporaryFolder folder;
  DataConfig config;
  config.train.format = config.test.format = DataFormat::kPython;
  config.train.samples = config.test.first_sample = 7;
  config.test.samples = 3;
  const DataSet train = DataSet::open(config, Split::kTrain, folder.path() / "cache");
  const DataSet test = DataSet::open(config, Split::kTest, folder.path() / "cache");
  Batch batch;

  BatchAssembler::for_training(train, config, kSeed).assemble(BatchPlace::whole(7, 7), batch);
  CHECK(std::set(batch.tokens.begin(), batch.tokens.end()) ==
        std::set<std::int64_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(batch.tokens != std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(batch.labels.empty());

  BatchAssembler::for_evaluation(test, config).assemble(BatchPlace::whole(1, 2), batch);
  CHECK(batch.tokens == std::vector<std::int64_t>{8, 9});
  config.train.samples = 0;
  CHECK_THROWS_AS(DataSet::open(config, Split::kTrain, folder.path() / "cache"), DataError);
}

}  // namespace scavenger
