#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/data/readers/number_array.h"
#include "runtime/data/readers/source_readers.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/data/data_files.h"
#include "test/unit/runtime/data/readers/array_files.h"

namespace scavenger {

using Catch::Contains;

namespace {

class ArrayFolder final {
 public:
  DataSourceConfig source(const std::string& x, const std::string& y,
                          const std::string& kind = ".npy") const {
    DataSourceConfig source;
    source.format = DataFormat::kArrays;
    source.features = folder_.path() / ("x" + kind);
    source.labels = folder_.path() / ("y" + kind);
    source.features_name = "x";
    source.labels_name = "y";
    write_file_atomically(source.features, x);
    write_file_atomically(source.labels, y);
    return source;
  }

 private:
  TemporaryFolder folder_;
};

const std::string kX = npy("<f4", "2, 3", content_of<float>({1, 2, 3, 4, 5, 6}));

std::string error_of(const DataSourceConfig& source, std::uint32_t classes = 0) {
  return data_error_of([&] { read_source(source, classes); });
}

}  // namespace

TEST_CASE("x and y are read as numbers, or as labels where there are classes") {
  const ArrayFolder folder;
  const std::string y = npy("<i8", "2,", content_of<std::int64_t>({2, 0}));

  const SampleTable labels = read_source(folder.source(kX, y), 3);
  const SampleTable values = read_source(folder.source(kX, y), 0);

  CHECK(labels.sample_shape == std::vector<std::int64_t>{3});
  CHECK(labels.floats == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(labels.labels == std::vector<std::int32_t>{2, 0});
  CHECK(labels.sample_count() == 2);
  CHECK(values.target_shape == std::vector<std::int64_t>{1});
  CHECK(values.values == std::vector<float>{2, 0});
  CHECK(values.sample_count() == 2);
}

TEST_CASE("Bytes stay bytes, and targets have the shape of their array") {
  const ArrayFolder folder;

  const SampleTable table =
      read_source(folder.source(npy("|u1", "2, 1, 2, 2", "abcdefgh"),
                                npy("<f8", "2, 2", content_of<double>({0.5, -1, 2, 1e-3}))),
                  0);

  CHECK(table.feature_type == FeatureType::kUint8);
  CHECK(table.sample_shape == std::vector<std::int64_t>{1, 2, 2});
  CHECK(table.bytes.at(7) == 'h');
  CHECK(table.target_shape == std::vector<std::int64_t>{2});
  CHECK(table.values == std::vector<float>{0.5F, -1.0F, 2.0F, 1e-3F});
}

TEST_CASE("Every type that NumPy's numbers have is understood") {
  const auto first = [](const std::string& type, const std::string& data) {
    return parse_npy(npy(type, "1,", data), "x").at(0);
  };

  CHECK(first("|b1", "\x01") == 1.0);
  CHECK(first("|i1", "\xfe") == -2.0);
  CHECK(first("<u2", content_of<std::uint16_t>({65535})) == 65535.0);
  CHECK(first("<i2", content_of<std::int16_t>({-3})) == -3.0);
  CHECK(first("<u4", content_of<std::uint32_t>({4000000000})) == 4e9);
  CHECK(first("<i4", content_of<std::int32_t>({-4})) == -4.0);
  CHECK(first("<u8", content_of<std::uint64_t>({1ULL << 60})) == std::exp2(60));
  CHECK(first("<i8", content_of<std::int64_t>({-5})) == -5.0);
  CHECK(first("<f8", content_of<double>({0.1})) == 0.1);
}

TEST_CASE("Arrays of an archive are found by name, packed or not") {
  const ArrayFolder folder;
  const std::string y = npy("<f4", "2,", content_of<float>({7, 8}));
  const std::string archive = zip({{"other.npy", y}, {"x.npy", kX, true}, {"y.npy", y}});

  const SampleTable table = read_source(folder.source(archive, archive, ".npz"), 0);

  CHECK(table.floats == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(table.values == std::vector<float>{7, 8});
  DataSourceConfig wrong = folder.source(archive, archive, ".npz");
  wrong.labels_name = "z";
  CHECK_THAT(error_of(wrong), Contains("no array \"z\"") && Contains("other, x and y") &&
                                  Contains("data.train.labels_name"));
}

TEST_CASE("A damaged archive is refused, wherever it is damaged") {
  const std::string archive = zip({{"x.npy", kX, true}, {"y.npy", kX}});
  std::vector<std::string> names;
  int wrong = 0;
  for (std::size_t i = 0; i < archive.size(); ++i) {
    for (const bool cut : {false, true}) {
      std::string damaged = cut ? archive.substr(0, i) : archive;
      if (!cut) damaged[i] = static_cast<char>(damaged[i] ^ 0x15);
      try {  // no crash, and never other content
        wrong += [&] {
          const std::string content = read_from_zip(damaged, "x.npy", names, "x.npz");
          return !content.empty() && content != kX;
        }();
      } catch (const DataError&) {
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("A file that is no array, or half of one, is refused") {
  const ArrayFolder folder;
  const auto error = [&](const std::string& x) { return error_of(folder.source(x, kX)); };

  CHECK_THAT(error("hello"), Contains("x.npy") && Contains("not an .npy file"));
  CHECK_THAT(error(kX.substr(0, 20)), Contains("within its header"));
  CHECK_THAT(error(kX.substr(0, kX.size() - 1)), Contains("23 bytes of data in place of 24"));
  CHECK_THAT(error(npy(">f4", "1,", "abcd")), Contains(">f4"));
  CHECK_THAT(error(npy("<c8", "1,", "abcdefgh")), Contains("<c8"));
  CHECK_THAT(error(npy("<f4", "2, 3", std::string(24, '\0'), "True")), Contains("Fortran"));
  CHECK_THAT(error(npy("<f4", "0, 3", "")), Contains("is empty"));
  CHECK_THAT(error(npy("<f4", "99999999999, 99999999999", "")), Contains("too large"));
  CHECK_THAT(error(npy("<f4", "2, -3", "")), Contains("shape"));
  CHECK_THAT(error(npy("<f4", "1, 1, 1, 1, 1", "abcd")), Contains("5 dimensions"));
}

TEST_CASE("Arrays that do not fit each other, or hold no numbers, are refused") {
  const ArrayFolder folder;
  const auto error = [&](const std::string& y, std::uint32_t classes) {
    return error_of(folder.source(kX, y), classes);
  };

  CHECK_THAT(error(npy("<f4", "3,", std::string(12, '\0')), 0),
             Contains("2 samples") && Contains("3 targets"));
  CHECK_THAT(error(npy("<f4", "2,", content_of<float>({0, NAN})), 0),
             Contains("y.npy: sample 1") && Contains("finite"));
  CHECK_THAT(error(npy("<i8", "2,", content_of<std::int64_t>({1, 3})), 3),
             Contains("sample 1") && Contains("label 3") && Contains("0 to 2"));
  CHECK_THAT(error(npy("<f4", "2,", content_of<float>({0, 0.5})), 3), Contains("whole number"));
  CHECK_THAT(error(kX, 3), Contains("several labels"));
}

}  // namespace scavenger
