#include "elastic/report/progress_display.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>

#include "elastic/history/run_summary.h"
#include "runtime/base/file.h"
#include "test/support/manual_clock.h"
#include "test/unit/elastic/events/sample_events.h"
#include "test/unit/elastic/report/terminal_screen.h"

namespace scavenger::elastic {
namespace {

// A display on a fake terminal, fed as scavenger-train feeds it.
class Session final {
 public:
  explicit Session(ProgressStyle style, std::uint32_t columns = 100)
      : columns_(columns),
        display_(out_, clock_, style, [this] { return columns_; }, [this] { return writable_; }) {}

  void event(double time, RunEvent event) {
    clock_.seconds = 1000.0 + time;
    const LoggedEvent logged{.time = time, .event = std::move(event)};
    summary_.apply(logged);
    display_.show_event(logged, summary_.numbers());
  }
  void tick(double time) {
    clock_.seconds = 1000.0 + time;
    display_.tick(summary_.numbers());
  }
  void start_and_train() {
    event(0.0, sample_start());
    event(1.0, sample_membership(1, {50, 50}));
    event(6.0, sample_iterations(1, 0, 50, 2));
  }
  void end(double time) {
    event(time, sample_end(50, 5000));
    display_.show_end(summary_.numbers(), {"runs/x"});
  }
  void stop_the_terminal(bool stopped) { writable_ = !stopped; }
  ProgressDisplay& display() { return display_; }
  std::string output() const { return out_.str(); }
  std::vector<std::string> screen() const {
    TerminalScreen terminal(columns_);
    terminal.write(out_.str());
    return terminal.lines();
  }

 private:
  std::uint32_t columns_;
  bool writable_ = true;
  std::ostringstream out_;
  ManualClock clock_;
  RunSummary summary_;
  ProgressDisplay display_;
};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("A terminal shows the milestones and one status block below them") {
  Session session(ProgressStyle::kLive);
  session.start_and_train();
  session.event(6.5, sample_evaluation(50, 5.0, 0.25, 0.875));
  session.tick(7.0);

  CHECK(session.screen() ==
        std::vector<std::string>{
            "K 2  B 100 from iteration 0: the job starts",
            "epoch 5.00  iteration 50  test accuracy 87.50 %  test loss 0.2500  (6.5 s  $0.0110)",
            "fashion_mlp  epoch 5.00 of 10  iteration 50",
            "  loss 0.5000  test accuracy 87.50 % (target 90.00 %)",
            "  1,000 samples/s  K 2  B 100  compute 15 ms  sync 20 ms",
            "  7.0 s  $0.0120  to go at most 5.5 s  $0.0110"});
}

TEST_CASE("The block is redrawn at most four times a second, however many events come") {
  Session session(ProgressStyle::kLive);
  session.event(0.0, sample_start());
  session.event(1.0, sample_membership(1, {50, 50}));
  for (std::uint64_t i = 0; i < 1000; ++i)
    session.event(1.0 + static_cast<double>(i) * 0.001, sample_iterations(1, i, 1, 2));

  CHECK(count_of(session.output(), "samples/s") <= 5);
  CHECK(count_of(session.output(), "samples/s") >= 3);
}

TEST_CASE("The time moves on while no events come") {
  Session session(ProgressStyle::kLive);
  session.start_and_train();
  session.tick(30.0);

  CHECK_THAT(session.screen().back(), Catch::StartsWith("  30.0 s"));
}

TEST_CASE("No line of the block wraps on a narrow terminal") {
  Session session(ProgressStyle::kLive, 24);
  session.event(0.0, sample_start());
  for (int i = 1; i < 10; ++i) session.tick(i);

  const std::vector<std::string> screen = session.screen();
  REQUIRE(screen.size() == 4);
  CHECK(std::all_of(screen.begin(), screen.end(),
                    [](const std::string& line) { return line.size() < 24; }));
  CHECK(screen[0] == "fashion_mlp  epoch 0...");
}

TEST_CASE("The block leaves no trace at the end") {
  Session session(ProgressStyle::kLive);
  session.start_and_train();
  session.tick(7.0);
  session.end(7.0);
  session.tick(9.0);

  const std::vector<std::string> screen = session.screen();
  CHECK(screen[0] == "K 2  B 100 from iteration 0: the job starts");
  CHECK_THAT(screen[1], Catch::StartsWith("fashion_mlp: max epochs: 10 epochs are done"));
  CHECK_THAT(screen.back(), Catch::Contains("runs/x"));
  for (const std::string& line : screen) CHECK_THAT(line, !Catch::Contains("to go"));
}

TEST_CASE("Others may write after clear(), and the block comes back below") {
  Session session(ProgressStyle::kLive);
  session.start_and_train();
  session.display().clear();
  const std::vector<std::string> cleared = session.screen();
  session.tick(8.0);

  CHECK(cleared.size() == 1);
  CHECK(session.screen().size() == 5);
}

TEST_CASE("A terminal that is stopped gets nothing, and afterwards what mattered, in order") {
  Session session(ProgressStyle::kLive);
  session.start_and_train();
  const std::string before = session.output();

  session.stop_the_terminal(true);
  session.event(6.5, sample_evaluation(50, 5.0, 0.25, 0.875));
  for (int i = 0; i < 10000; ++i) session.event(7.0, fact::Warning{.text = "odd"});
  session.tick(8.0);
  const std::string stopped = session.output();
  session.stop_the_terminal(false);
  session.tick(9.0);

  CHECK(stopped == before);
  CHECK(session.output().size() < before.size() + 2 * ProgressDisplay::kMaxWaitingBytes);
  const std::vector<std::string> screen = session.screen();
  CHECK_THAT(screen.at(1), Catch::StartsWith("epoch 5.00  iteration 50  test accuracy 87.50 %"));
  CHECK(screen.at(2) == "warning: odd");
  CHECK_THAT(screen.at(screen.size() - 4), Catch::StartsWith("fashion_mlp  epoch 5.00"));
  CHECK_THAT(screen.back(), Catch::StartsWith("  9.0 s"));
}

TEST_CASE("A pipe that nobody reads is noticed before it blocks") {
  int ends[2] = {-1, -1};
  REQUIRE(pipe(ends) == 0);
  const FileDescriptor reader(ends[0]);
  const FileDescriptor writer(ends[1]);
  const bool empty_is_writable = can_write_now(writer.get());

  const std::string kibibyte(1024, 'x');
  for (int i = 0; i < 1024 && can_write_now(writer.get()); ++i)
    REQUIRE(write(writer.get(), kibibyte.data(), kibibyte.size()) == 1024);

  CHECK(empty_is_writable);
  CHECK_FALSE(can_write_now(writer.get()));
}

TEST_CASE("Elsewhere the status is a line every few seconds, without escape sequences") {
  Session session(ProgressStyle::kLines);
  session.start_and_train();
  session.event(7.0, fact::Checkpoint{.iteration = 50, .folder = "checkpoints/50", .bytes = 2048});
  for (int i = 8; i <= 20; ++i) session.tick(i);

  const std::string output = session.output();
  CHECK(count_of(output, "\x1b") == 0);
  CHECK(count_of(output, "\r") == 0);
  CHECK(count_of(output, "samples/s") == 3);  // at 6, 11 and 16 s
  CHECK_THAT(output, Catch::Contains("checkpoint of iteration 50: checkpoints/50, 2.0 KiB\n"));
}

TEST_CASE("Quiet means problems and one line at the end") {
  Session session(ProgressStyle::kQuiet);
  session.start_and_train();
  session.event(6.5, sample_evaluation(50, 5.0, 0.25, 0.875));
  session.event(7.0, fact::CheckpointFailed{.iteration = 50, .reason = "no space left"});
  session.tick(60.0);
  session.end(60.0);

  CHECK(session.output() ==
        "no checkpoint of iteration 50: no space left\n"
        "fashion_mlp: max epochs: 10 epochs are done after 5.00 epochs, 50 iterations, "
        "1 min 00 s\n");
}

TEST_CASE("A real terminal is found, and its width") {
  const FileDescriptor terminal(posix_openpt(O_RDWR | O_NOCTTY));
  if (terminal.get() < 0) {
    WARN("skipped: this system gives no pseudo-terminal");
    return;
  }
  const struct winsize size {
    .ws_row = 40, .ws_col = 123, .ws_xpixel = 0, .ws_ypixel = 0
  };
  REQUIRE(ioctl(terminal.get(), TIOCSWINSZ, &size) == 0);

  REQUIRE(setenv("TERM", "xterm", 1) == 0);
  CHECK(choose_progress_style(false, terminal.get()) == ProgressStyle::kLive);
  CHECK(choose_progress_style(true, terminal.get()) == ProgressStyle::kQuiet);
  CHECK(terminal_width(terminal.get()) == 123);
  REQUIRE(setenv("TERM", "dumb", 1) == 0);
  CHECK(choose_progress_style(false, terminal.get()) == ProgressStyle::kLines);
}

TEST_CASE("Without a terminal nobody draws a live block") {
  CHECK(choose_progress_style(true, 0) == ProgressStyle::kQuiet);
  CHECK(choose_progress_style(false, -1) == ProgressStyle::kLines);
  CHECK(terminal_width(-1) == 80);
}

TEST_CASE("No line on a narrow terminal is broken within a word") {
  Session session(ProgressStyle::kLive, 40);
  session.start_and_train();
  session.event(6.5,
                fact::Warning{"words of seven letters, and of more, in a line that is too long"});
  session.end(7.0);

  std::string shown;
  for (const std::string& line : session.screen()) {
    CHECK(line.size() < 40);
    shown += line + " ";
  }
  CHECK(shown.find("seven letters") != std::string::npos);
  CHECK(shown.find("too long") != std::string::npos);
}

TEST_CASE("The block is removed line by line, since tmux keeps what a cleared screen had") {
  Session session(ProgressStyle::kLive);
  session.start_and_train();
  session.tick(7.0);
  session.tick(8.0);
  CHECK(count_of(session.output(), "\x1b[0J") == 0);
  CHECK(count_of(session.output(), "\x1b[2K") >= 4);
}

}  // namespace scavenger::elastic
