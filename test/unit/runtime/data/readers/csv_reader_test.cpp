#include <catch2/catch.hpp>

#include "runtime/data/readers/source_readers.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/data/data_files.h"

namespace scavenger {

using Catch::Contains;

namespace {

SampleTable read(const DataSourceConfig& source) {
  return read_source(source, 3);
}

std::string csv_error(const DataSourceConfig& source) {
  return data_error_of([&] { read(source); });
}

}  // namespace

TEST_CASE("A CSV line is a sample: the label column, and features from all others in order") {
  const TemporaryFolder folder;
  DataSourceConfig source = write_csv(folder.path(), "0.5,2,-3e2\n1,0,+4.25\n");
  source.label_column = "1";

  const SampleTable table = read(source);

  CHECK(table.feature_type == FeatureType::kFloat32);
  CHECK(table.sample_shape == std::vector<std::int64_t>{2});
  CHECK(table.floats == std::vector<float>{0.5f, -300.0f, 1.0f, 4.25f});
  CHECK(table.labels == std::vector<std::int32_t>{2, 0});
}

TEST_CASE("The label column is found by its name in the header, quoted or not") {
  const TemporaryFolder folder;
  DataSourceConfig source =
      write_csv(folder.path(), "\"class, \"\"true\"\"\",width,\"height\"\n1,10,20\n");
  source.has_header = true;

  source.label_column = "class, \"true\"";
  CHECK(read(source).labels == std::vector<std::int32_t>{1});
  CHECK(read(source).floats == std::vector<float>{10.0f, 20.0f});

  source.label_column = "width";
  source.files.push_back(source.files[0]);
  CHECK_THAT(csv_error(source), Contains("label 10"));
}

TEST_CASE("CSV as spreadsheets write it is read: mark, CRLF, quotes, spaces, empty lines") {
  const TemporaryFolder folder;
  const DataSourceConfig source =
      write_csv(folder.path(), "\xef\xbb\xbf\"1\", 2 ,0\r\n\r\n 3,\"4\",\"1\"\r\n\n");

  const SampleTable table = read(source);

  CHECK(table.floats == std::vector<float>{1.0f, 2.0f, 3.0f, 4.0f});
  CHECK(table.labels == std::vector<std::int32_t>{0, 1});
}

TEST_CASE("A CSV file may be gzip, and may lack the newline at its end") {
  const TemporaryFolder folder;
  const DataSourceConfig source = write_csv(folder.path(), gzip("1,2,0\n3,4,1", folder.path()));

  CHECK(read(source).labels == std::vector<std::int32_t>{0, 1});
}

TEST_CASE("Several CSV files follow one another, each with the same header") {
  const TemporaryFolder folder;
  DataSourceConfig source = write_csv(folder.path(), "a,b\n1,0\n");
  source.has_header = true;
  source.files.push_back(folder.path() / "more.csv");
  write_file_atomically(source.files[1], "a,b\n2,1\n");

  CHECK(read(source).floats == std::vector<float>{1.0f, 2.0f});

  write_file_atomically(source.files[1], "b,a\n2,1\n");
  CHECK_THAT(csv_error(source), Contains("more.csv:1") && Contains("column names differ"));
}

TEST_CASE("A ragged CSV line is named by its number") {
  const TemporaryFolder folder;

  CHECK_THAT(csv_error(write_csv(folder.path(), "1,2,0\n\n1,2\n")),
             Contains("samples.csv:3") && Contains("2 fields") && Contains("3"));
  CHECK_THAT(csv_error(write_csv(folder.path(), "1,2,0\n1,2,0,\n")), Contains("4 fields"));
}

TEST_CASE("A CSV field that is no finite number is named by line and field") {
  const TemporaryFolder folder;
  for (const std::string bad : {"x", "", "nan", "inf", "1e39", "1.5.2", "0x10"}) {
    const DataSourceConfig source = write_csv(folder.path(), "1,2,0\n1," + bad + ",0\n");
    CHECK_THAT(csv_error(source),
               Contains("samples.csv:2") && Contains("field 2") && Contains("\"" + bad + "\""));
  }
}

TEST_CASE("A quote that is never closed is an error") {
  const TemporaryFolder folder;

  CHECK_THAT(csv_error(write_csv(folder.path(), "1,2,0\n1,\"2,0\n")), Contains("samples.csv:2"));
}

TEST_CASE("Words in the first line point to has_header") {
  const TemporaryFolder folder;

  CHECK_THAT(csv_error(write_csv(folder.path(), "width,height,class\n1,2,0\n")),
             Contains("samples.csv:1") && Contains("data.train.has_header"));
}

TEST_CASE("A sample is not taken for a header, and the numbers of the columns are one") {
  const TemporaryFolder folder;
  DataSourceConfig source = write_csv(folder.path(), "0.5,2,1\n1,2,0\n");
  source.has_header = true;
  CHECK_THAT(csv_error(source), Contains("samples.csv:1") && Contains("all numbers") &&
                                    Contains("data.train.has_header to false"));

  source = write_csv(folder.path(), "0,1,2\n1,2,0\n");
  source.has_header = true;
  CHECK(read(source).labels == std::vector<std::int32_t>{0});
}

TEST_CASE("Class names in place of labels are told what they should be") {
  const TemporaryFolder folder;

  CHECK_THAT(csv_error(write_csv(folder.path(), "1,2,0\n1,2,no\n")),
             Contains("samples.csv:2") && Contains("label \"no\" is a name") &&
                 Contains("0 to 2") && Contains("class's number"));
  CHECK_THAT(csv_error(write_csv(folder.path(), "1,2,no\n")), Contains("is a name"));
}

TEST_CASE("A label column that does not exist is an error with the nearest name") {
  const TemporaryFolder folder;
  DataSourceConfig source = write_csv(folder.path(), "width,class\n1,0\n");

  source.label_column = "2";
  CHECK_THAT(csv_error(source), Contains("no label column \"2\"") && Contains("0 to 1"));

  source.has_header = true;
  source.label_column = "clas";
  CHECK_THAT(csv_error(source), Contains("did you mean \"class\""));
}

TEST_CASE("A CSV label must be a whole number in range") {
  const TemporaryFolder folder;

  CHECK_THAT(csv_error(write_csv(folder.path(), "1,0\n1,1.5\n")),
             Contains("samples.csv:2") && Contains("\"1.5\" is not a whole number"));
  CHECK_THAT(csv_error(write_csv(folder.path(), "1,0\n1,-1\n")),
             Contains("samples.csv:2: sample 1 ") && Contains("label -1") && Contains("0 to 2"));
}

TEST_CASE("A CSV file without samples is an error") {
  const TemporaryFolder folder;

  CHECK_THAT(csv_error(write_csv(folder.path(), "")), Contains("holds no samples"));

  DataSourceConfig header_only = write_csv(folder.path(), "a,b\n");
  header_only.has_header = true;
  CHECK_THAT(csv_error(header_only), Contains("holds no samples"));
}

}  // namespace scavenger
