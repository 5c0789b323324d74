#include "perfmodel/store/observation_table.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;
using namespace scavenger::perfmodel;

namespace {

ModelRecord read(const std::string& text, const TableFormat& format = {}, double samples = 0.0) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "table.csv";
  write_file_atomically(path, text);
  return read_observation_table(path, format, samples);
}

}  // namespace

TEST_CASE("a CSV table is read by its header, whatever the order; empty cells are unknown") {
  const ModelRecord record = read(
      "\xef\xbb\xbf"  // as Excel begins a file
      "batch_size, workers,iteration_milliseconds,epochs,noise,machine\n"
      "# a remark\n"
      "64,2,12.5,,0.8,e2\n"
      "\n"
      "128,4,,7.5,\"0.7\",e2\r\n");

  REQUIRE(record.times.size() == 1);
  CHECK(record.times[0].seconds == Approx(0.0125));
  CHECK(record.times[0].workers == 2.0);
  CHECK(record.times[0].machine == "e2");
  REQUIRE(record.epochs.size() == 1);
  CHECK(record.epochs[0].batch_size == 128.0);
  CHECK(record.noise.size() == 2);
}

TEST_CASE("a JSON list is read alike") {
  const ModelRecord record =
      read(R"([{"workers": 2, "batch_size": 64, "iteration_seconds": 0.5, "epochs": null}])");
  CHECK(record.times.at(0).seconds == 0.5);
  CHECK(record.epochs.empty());
}

TEST_CASE("a table's own words for columns, and some of its rows") {
  const std::string text = "model,K,B,tau\nA,2,64,0.5\nB,2,64,0.9\n";
  const ModelRecord record = read(
      text,
      {{{"workers", "K"}, {"batch_size", "B"}, {"iteration_seconds", "tau"}}, {{"model", "B"}}});
  REQUIRE(record.times.size() == 1);
  CHECK(record.times[0].seconds == 0.9);
  CHECK_THROWS_WITH(read(text, {{{"tau", "tau"}}, {}}), Catch::Contains("no column \"tau\""));
  CHECK_THROWS_WITH(read(text, {{{"workers", "W"}}, {}}), Catch::Contains("no header \"W\""));
}

TEST_CASE("what is wrong in a table is said with its line") {
  const std::string head = "workers,batch_size,iteration_seconds\n";
  CHECK_THROWS_WITH(read(head + "2,64,abc\n"),
                    Catch::Contains("table.csv:2") && Catch::Contains("\"abc\""));
  CHECK_THROWS_WITH(read(head + "2,64,-1\n"), Catch::Contains("must be positive"));
  CHECK_THROWS_WITH(read(head + "2,64,nan\n"), Catch::Contains("no finite number"));
  CHECK_THROWS_WITH(read(head + "2,64\n"), Catch::Contains("2 cells under a header of 3"));
  CHECK_THROWS_WITH(read(head + "4,2,0.1\n"), Catch::Contains("4 workers cannot share"));
  CHECK_THROWS_WITH(read("workers,tau\n2,3\n"), Catch::Contains("batch_size is missing"));
  CHECK_THROWS_WITH(read("workers,batch_size\n2,64\n"), Catch::Contains("no row that counts"));
  CHECK_THROWS_WITH(read(""), Catch::Contains("no observations"));
  CHECK_THROWS_WITH(read("[3]"), Catch::Contains("no object"));
}

TEST_CASE("times in two units that contradict each other are refused") {
  CHECK_THROWS_WITH(
      read("workers,batch_size,iteration_seconds,iteration_milliseconds\n2,64,0.01,0.01\n"),
      Catch::Contains("contradict"));
  // 10 epochs of 6400 samples at B = 64 are 1000 iterations; of 10 ms, 10 s.
  const std::string head = "workers,batch_size,iteration_seconds,epochs,seconds\n";
  CHECK(read(head + "2,64,0.01,10,11\n", {}, 6400.0).epochs.at(0).seconds == 11.0);
  CHECK_THROWS_WITH(read(head + "2,64,10,10,11\n", {}, 6400.0), Catch::Contains("check the units"));
}
