#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "elastic/page/prometheus_text.h"
#include "elastic/page/tensorboard_log.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

RunHistory sample_history() {
  RunHistory history;
  double time = 0.0;
  for (const RunEvent& event : one_of_each())
    if (!std::holds_alternative<fact::IterationBlock>(event))  // its noise is no real one
      history.apply({.time = time += 1.0, .event = event});
  return history;
}

}  // namespace

TEST_CASE("Every name of a metric is documented, and every documented one is there") {
  std::ifstream file(PAGE_DOCUMENT_PATH);
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  std::istringstream lines(prometheus_text(sample_history()));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("# TYPE ")) names.insert(line.substr(7, line.find(' ', 7) - 7));

  CHECK(names.size() > 20);
  for (const std::string& name : names) {
    INFO(name);
    CHECK(document.find("`" + name + "`") != std::string::npos);
  }
  for (std::size_t at = document.find("| `scavenger_"); at != std::string::npos;
       at = document.find("| `scavenger_", at + 1)) {
    const std::string name = document.substr(at + 3, document.find('`', at + 3) - at - 3);
    INFO(name);
    CHECK(names.contains(name));
  }
}

TEST_CASE("Metrics are the numbers of the log") {
  RunHistory history;
  history.apply({.time = 0.0, .event = sample_start()});
  history.apply({.time = 2.0, .event = sample_membership(1, {40, 24})});
  history.apply({.time = 12.0, .event = sample_iterations(1, 0, 100, 2)});
  history.apply({.time = 13.0, .event = sample_evaluation(100, 6.4, 0.3, 0.8)});

  const std::string text = prometheus_text(history);
  for (const char* line : {"scavenger_iteration 100\n", "scavenger_samples_trained_total 6400\n",
                           "scavenger_workers 2\n", "scavenger_worker_batch_size{rank=\"1\"} 24\n",
                           "scavenger_job_seconds_total 13\n",
                           "scavenger_evaluation{split=\"test\",metric=\"accuracy\"} 0.8\n",
                           "scavenger_iteration_seconds_count{workers=\"2\",batch_size=\"64\","
                           "shares=\"unequal\"} 97\n"}) {
    INFO(text);
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE("Names in labels cannot end them") {
  fact::Start start = sample_start();
  start.name = "a\"} 1\nscavenger_workers 99\\";
  RunHistory history;
  history.apply({.time = 0.0, .event = start});

  const std::string text = prometheus_text(history);
  CHECK(text.find("\nscavenger_workers 99") == std::string::npos);
  CHECK(text.find(R"(name="a\"} 1\nscavenger_workers 99\\")") != std::string::npos);
}

TEST_CASE("A record of TensorBoard's has the masked checksums of its format") {
  // As tensorflow's TFRecordWriter writes it: CRC-32C("123456789") is e3069283.
  const std::string record = tensorboard_record("123456789");
  REQUIRE(record.size() == 8 + 4 + 9 + 4);
  CHECK(record.substr(0, 8) == std::string("\x09\0\0\0\0\0\0\0", 8));
  const std::uint32_t masked = (0xe3069283U >> 15 | 0xe3069283U << 17) + 0xa282ead8U;
  std::uint32_t last = 0;
  for (int i = 3; i >= 0; --i)
    last = last << 8 | static_cast<unsigned char>(record[21 + static_cast<std::size_t>(i)]);
  CHECK(last == masked);
}

TEST_CASE("A log is written anew, and not beside what was there") {
  const TemporaryFolder folder;
  for (int i = 0; i < 2; ++i) {
    TensorboardLog log(folder.path());
    log.add({.time = 1.0, .event = sample_start()});
    log.add({.time = 2.0, .event = sample_evaluation(100, 6.4, 0.3, 0.8)});
    log.flush();
  }

  std::vector<std::uintmax_t> sizes;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    sizes.push_back(entry.file_size());
  CHECK(sizes.size() == 1);
  CHECK(sizes[0] < 300);
}

}  // namespace scavenger::elastic
