#include "elastic/events/event_log.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "runtime/base/error.h"
#include "test/support/manual_clock.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

void append_raw(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

std::vector<LoggedEvent> read_all(const std::filesystem::path& path) {
  EventLogReader reader(path);
  std::vector<LoggedEvent> events;
  while (std::optional<LoggedEvent> event = reader.next()) events.push_back(*event);
  return events;
}

// Lets no file of this process grow beyond `bytes` while it lives: a disk that is full for a while.
class FileSizeLimit final {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const struct rlimit limit {
      .rlim_cur = bytes, .rlim_max = before_.rlim_max
    };
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  struct rlimit before_ {};
};

// Another process that appends events until it is killed, `milliseconds` from now.
void append_until_killed(const std::filesystem::path& path, int milliseconds) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const ManualClock clock;
    EventLogWriter writer(path, clock);
    for (std::uint64_t i = 0;; ++i) writer.append(sample_iterations(1, i * 500, 500, 2));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  kill(child, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

}  // namespace

TEST_CASE("What is appended can be read back, stamped with the job's time") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  ManualClock clock;
  EventLogWriter writer(path, clock);
  std::vector<LoggedEvent> appended;

  for (const RunEvent& event : one_of_each()) {
    clock.seconds += 0.25;
    appended.push_back(writer.append(event));
  }

  CHECK(appended.front().time == 0.25);
  CHECK(appended.back().time == 0.25 * static_cast<double>(appended.size()));
  CHECK(read_all(path) == appended);
}

TEST_CASE("Measured series are rounded, and whoever appends them sees what a reader sees") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  ManualClock clock;
  EventLogWriter writer(path, clock);
  fact::Iterations measured = sample_iterations(1, 0, 3, 2);
  measured.seconds = {1.0 / 3.0, 1.0 / 7.0, 0.1234567890123};

  const LoggedEvent appended = writer.append(measured);

  CHECK(std::get<fact::Iterations>(appended.event).seconds != measured.seconds);
  CHECK(read_all(path) == std::vector{appended});
}

TEST_CASE("The job's time goes on where an earlier process left it") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  ManualClock clock;
  {
    EventLogWriter writer(path, clock);
    clock.seconds += 60.0;
    writer.append(fact::Warning{.text = "first"});
  }
  clock.seconds = 5.0;  // another boot

  EventLogWriter writer(path, clock);
  clock.seconds += 1.5;
  const LoggedEvent logged = writer.append(fact::Warning{.text = "second"});

  CHECK(writer.time_before() == 60.0);
  CHECK(writer.bytes_cut() == 0);
  CHECK(logged.time == 61.5);
}

TEST_CASE("A last line that a kill tore apart is cut off, and the log goes on") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  ManualClock clock;
  { EventLogWriter(path, clock).append(fact::Warning{.text = "whole"}); }
  append_raw(path, R"({"time":3.0,"eve)");

  EventLogWriter writer(path, clock);
  writer.append(fact::Warning{.text = "next"});

  CHECK(writer.bytes_cut() == 16);
  const std::vector<LoggedEvent> events = read_all(path);
  REQUIRE(events.size() == 2);
  CHECK(std::get<fact::Warning>(events[1].event).text == "next");
}

TEST_CASE("After kill -9 at any instant the log is whole events, and the next process goes on") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  const ManualClock clock;

  for (int milliseconds = 1; milliseconds <= 40; milliseconds += 3)
    append_until_killed(path, milliseconds);
  // Under a sanitizer, or on a busy machine, none of those may have come to write.
  for (int milliseconds = 80; read_all(path).empty() && milliseconds < 60000; milliseconds *= 2)
    append_until_killed(path, milliseconds);
  EventLogWriter(path, clock).append(fact::Warning{.text = "still here"});

  const std::vector<LoggedEvent> events = read_all(path);
  CHECK(events.size() > 1);
  CHECK(std::get<fact::Warning>(events.back().event).text == "still here");
}

TEST_CASE("A log that holds nothing but a torn line starts anew") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  append_raw(path, "{\"ti");

  const ManualClock clock;

  const EventLogWriter writer(path, clock);

  CHECK(writer.bytes_cut() == 4);
  CHECK(writer.time_before() == 0.0);
  CHECK(std::filesystem::file_size(path) == 0);
}

TEST_CASE("A file that is no event log is refused before anything is changed") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  append_raw(path, "a\nb\nc");
  const ManualClock clock;

  CHECK_THROWS_WITH(EventLogWriter(path, clock), Catch::Contains("events.jsonl:2"));
  CHECK(std::filesystem::file_size(path) == 5);
}

TEST_CASE("A log that somebody removes is known to be gone") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  const ManualClock clock;
  EventLogWriter writer(path, clock);
  CHECK_FALSE(writer.is_removed());

  std::filesystem::remove(path);

  CHECK(writer.is_removed());
}

TEST_CASE("A log whose last time no job can have is refused, and left as it is") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  for (const char* time : {"1e300", "4e9"}) {
    const std::string line =
        std::string(R"({"time":)") + time + R"(,"event":"warning","text":"odd"})" + "\n";
    write_file_atomically(path, line);

    CHECK_THROWS_WITH(EventLogWriter(path, ManualClock()),
                      Catch::Contains("no job has lived for") && Catch::Contains("jsonl:1"));
    CHECK(read_file(path) == line);
  }
}

TEST_CASE("A full disk stops nobody, and is told") {
  if (!std::filesystem::exists("/dev/full")) {
    WARN("skipped: this system has no /dev/full");
    return;
  }
  const ManualClock clock;
  EventLogWriter writer("/dev/full", clock);
  const std::string problem_before = writer.problem();

  writer.append(fact::Warning{.text = "x"});
  writer.sync();

  CHECK(problem_before.empty());
  CHECK_THAT(writer.problem(), Catch::Contains("/dev/full") && Catch::Contains("No space left"));
}

TEST_CASE("What found no room is written when there is room again, in order and once") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  const ManualClock clock;
  EventLogWriter writer(path, clock);
  std::vector<LoggedEvent> appended = {writer.append(fact::Warning{.text = "before"})};

  {
    const FileSizeLimit limit(60);  // in the middle of the second line
    for (const char* text : {"second", "third"})
      appended.push_back(writer.append(fact::Warning{.text = text}));
    CHECK_FALSE(writer.problem().empty());
    CHECK(read_all(path).size() == 1);
  }
  appended.push_back(writer.append(fact::Warning{.text = "after"}));

  CHECK(writer.problem().empty());
  CHECK(read_all(path) == appended);
}

TEST_CASE("While the disk is full for long, memory stays bounded and only measurements are lost") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  const ManualClock clock;
  EventLogWriter writer(path, clock);
  const RunEvent megabyte = sample_iterations(1, 0, 5000, 3);
  const std::size_t bytes = to_json_line({.time = 0.0, .event = megabyte}).size();

  {
    const FileSizeLimit limit(0);
    for (std::size_t i = 0; i < 3 * EventLogWriter::kMaxWaitingBytes / bytes; ++i)
      writer.append(megabyte);
    writer.append(sample_membership(2, {8}));
  }
  writer.sync();

  CHECK(std::filesystem::file_size(path) > EventLogWriter::kMaxWaitingBytes);
  CHECK(std::filesystem::file_size(path) < EventLogWriter::kMaxWaitingBytes + 2 * bytes);
  CHECK(std::get<fact::Membership>(read_all(path).back().event) == sample_membership(2, {8}));
}

TEST_CASE("A reader stops before a torn line, and goes on once the line is whole") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  append_raw(path, "{\"time\":1,\"event\":\"warning\",\"text\":\"a\"}\n{\"time\":2,\"event\":");
  EventLogReader reader(path);

  const auto first = reader.next();
  const auto torn = reader.next();
  const std::uint64_t torn_bytes = reader.torn_bytes();
  append_raw(path, "\"warning\",\"text\":\"b\"}\n");
  const auto second = reader.next();

  CHECK(first.has_value());
  CHECK_FALSE(torn.has_value());
  CHECK(torn_bytes == 18);
  REQUIRE(second.has_value());
  CHECK(std::get<fact::Warning>(second->event).text == "b");
  CHECK(reader.line() == 2);
  CHECK_FALSE(reader.next().has_value());
  CHECK(reader.torn_bytes() == 0);
}

TEST_CASE("A pipe is no log: nobody waits for it, and nothing is written to it") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const ManualClock clock;
  const auto refused = Catch::Contains("not a regular file");

  CHECK_THROWS_WITH(EventLogWriter(path, clock), refused);
  ::alarm(60);  // who opens a pipe waits for one who writes to it
  CHECK_THROWS_WITH(EventLogReader(path), refused);
  ::alarm(0);
}

TEST_CASE("A damaged line in the middle of a log is named") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  append_raw(path, "{\"time\":1,\"event\":\"warning\",\"text\":\"a\"}\n\n");
  EventLogReader reader(path);
  reader.next();

  CHECK_THROWS_WITH(reader.next(), Catch::Contains("events.jsonl:2"));
}

TEST_CASE("Lines far longer than the read buffer come out whole") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  const ManualClock clock;
  EventLogWriter writer(path, clock);
  for (std::uint64_t i = 0; i < 5; ++i) writer.append(sample_iterations(1, i * 20000, 20000, 3));

  const std::vector<LoggedEvent> events = read_all(path);

  REQUIRE(events.size() == 5);
  CHECK(std::get<fact::Iterations>(events[4].event) == sample_iterations(1, 80000, 20000, 3));
}

}  // namespace scavenger::elastic
