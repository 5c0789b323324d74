// Samples of which nobody knows the targets, for predictions.
#include <catch2/catch.hpp>

#include "runtime/data/batch_assembler.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/data/data_files.h"
#include "test/unit/runtime/data/readers/array_files.h"

namespace scavenger {
namespace {

DataConfig csv_data() {
  DataConfig data;
  data.test.format = DataFormat::kCsv;
  data.test.label_column = "1";
  data.classes = 3;
  return data;
}

DataShape shape_of(std::vector<std::int64_t> sample_shape) {
  DataShape shape;
  shape.sample_shape = std::move(sample_shape);
  shape.classes = 3;
  return shape;
}

}  // namespace

TEST_CASE("A CSV file is read with the label column, whatever is in it, and without") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "x.csv";
  write_file_atomically(file, "1,unknown,2\n3,,4\n");
  const SampleTable with = read_unlabelled(csv_data(), file, 2);
  CHECK(with.floats == std::vector<float>{1, 2, 3, 4});
  CHECK(with.sample_shape == std::vector<std::int64_t>{2});

  write_file_atomically(file, "1,2\n3,4\n");
  CHECK(read_unlabelled(csv_data(), file, 2).floats == with.floats);

  for (const char* const named :
       {"width,height\n1,2\n3,4\n", "width,class,height\n1,a,2\n3,b,4\n"}) {
    write_file_atomically(file, named);
    CHECK(read_unlabelled(csv_data(), file, 2).floats == with.floats);
  }

  write_file_atomically(file, "1,2\n3,nobody\n");
  CHECK_THAT(data_error_of([&] { read_unlabelled(csv_data(), file, 2); }),
             Catch::Contains("x.csv:2"));
  write_file_atomically(file, "");
  CHECK_THAT(data_error_of([&] { read_unlabelled(csv_data(), file, 2); }),
             Catch::Contains("no samples"));
}

TEST_CASE("Images are read without their labels, and arrays whatever the job's format is") {
  const TemporaryFolder folder;
  DataConfig data;
  data.test = write_small_idx(folder.path());
  const SampleTable images = read_unlabelled(data, data.test.features, 4);
  CHECK(images.bytes.size() == 12);
  CHECK(images.sample_shape == std::vector<std::int64_t>{1, 2, 2});

  const auto file = folder.path() / "x.npy";
  write_file_atomically(file, npy("<f4", "2, 2", content_of<float>({1, 2, 3, 4})));
  for (const DataFormat format : {DataFormat::kIdx, DataFormat::kSynthetic}) {
    data.test.format = format;
    CHECK(read_unlabelled(data, file, 2).floats == std::vector<float>{1, 2, 3, 4});
  }
  CHECK_THAT(data_error_of([&] { read_unlabelled(data, folder.path() / "x.jpg", 2); }),
             Catch::Contains("samples of this kind cannot be read"));
}

TEST_CASE("Unlabelled samples are a data set of the job's shape, scaled as its samples are") {
  const TemporaryFolder folder;
  DataConfig data = csv_data();
  data.scale = 0.5;
  const auto file = folder.path() / "x.csv";
  write_file_atomically(file, "2,4,6,8\n1,1,1,1\n");
  const DataSet samples =
      DataSet::of_unlabelled(read_unlabelled(data, file, 4), data, shape_of({1, 2, 2}), "x.csv");
  CHECK(samples.size() == 2);
  CHECK(samples.sample_shape() == std::vector<std::int64_t>{1, 2, 2});
  Batch batch;
  BatchAssembler::for_evaluation(samples, data).assemble(BatchPlace::whole(0, 2), batch);
  CHECK(batch.features == CacheLineVector<float>{1, 2, 3, 4, 0.5f, 0.5f, 0.5f, 0.5f});
  CHECK(batch.labels == std::vector<std::int64_t>{0, 0});

  CHECK_THAT(data_error_of([&] {
               DataSet::of_unlabelled(read_unlabelled(data, file, 4), data, shape_of({5}), "x.csv");
             }),
             Catch::Contains("x.csv") && Catch::Contains("[4]") && Catch::Contains("[5]"));
}

}  // namespace scavenger
