#include "elastic/report/progress_display.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "elastic/report/event_text.h"
#include "elastic/report/quantity_text.h"

namespace scavenger::elastic {
namespace {

// The cursor one line up, and that line empty. "Clear to the end of the screen" would do it at
// once, but from the topmost line tmux and others take that for a clear screen, and keep a copy of
// the block in what can be scrolled back to.
constexpr std::string_view kEmptyLineAbove = "\x1b[A\x1b[2K";

std::vector<std::string> live_block(const std::string& name, const StatusText& status) {
  std::vector<std::string> block = {printable(name) + "  " + status.progress, "  " + status.quality,
                                    "  " + status.speed, "  " + status.effort};
  if (!status.outlook.empty()) block.push_back("  " + status.outlook);
  return block;
}

std::string status_line(const StatusText& status) {
  std::string line = status.progress;
  for (const std::string* part : {&status.quality, &status.speed, &status.effort, &status.outlook})
    if (!part->empty()) line += "  " + *part;
  return line;
}

Attention least_attention(ProgressStyle style) {
  switch (style) {
    case ProgressStyle::kLive:
      return Attention::kMilestone;
    case ProgressStyle::kLines:
      return Attention::kDetail;
    case ProgressStyle::kQuiet:
      break;
  }
  return Attention::kProblem;
}

}  // namespace

ProgressStyle choose_progress_style(bool quiet, int file_descriptor) {
  if (quiet) return ProgressStyle::kQuiet;
  const char* const terminal = std::getenv("TERM");
  const bool capable = terminal != nullptr && std::string_view(terminal) != "dumb";
  return ::isatty(file_descriptor) == 1 && capable ? ProgressStyle::kLive : ProgressStyle::kLines;
}

std::uint32_t terminal_width(int file_descriptor) {
  struct winsize size {};
  if (::ioctl(file_descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool can_write_now(int file_descriptor) {
  struct pollfd state {
    .fd = file_descriptor, .events = POLLOUT, .revents = 0
  };
  return ::poll(&state, 1, 0) == 1 && state.revents != 0;  // an error is told by the write itself
}

ProgressDisplay::ProgressDisplay(std::ostream& out, const Clock& clock, ProgressStyle style,
                                 std::function<std::uint32_t()> width,
                                 std::function<bool()> writable)
    : out_(out),
      clock_(clock),
      style_(style),
      width_(std::move(width)),
      writable_(std::move(writable)),
      event_clock_(clock.now_seconds()),
      status_clock_(event_clock_) {}

void ProgressDisplay::show_event(const LoggedEvent& logged, const RunNumbers& numbers) {
  if (ended_) return;
  event_clock_ = clock_.now_seconds();
  pace_.apply(logged);
  const EventText event = event_text(logged, numbers);
  if (event.attention >= least_attention(style_)) print(event.text);
  show_status_if_due(numbers);
}

void ProgressDisplay::show_note(const std::string& text) {
  if (!ended_ && style_ != ProgressStyle::kQuiet) print(text);
}

void ProgressDisplay::tick(const RunNumbers& numbers) {
  if (!ended_) show_status_if_due(numbers);
}

void ProgressDisplay::show_status_if_due(const RunNumbers& numbers) {
  write_waiting();
  if (style_ == ProgressStyle::kQuiet || numbers.starts.total == 0 || !waiting_.empty()) return;
  const double now = clock_.now_seconds();
  const double interval = style_ == ProgressStyle::kLive ? kRedrawSeconds : kLineSeconds;
  if (now - status_clock_ < interval || !writable_()) return;
  status_clock_ = now;
  const StatusText status = status_text(numbers, pace_, numbers.seconds + now - event_clock_);
  if (style_ == ProgressStyle::kLive)
    draw(live_block(numbers.start.name, status));
  else
    print(status_line(status));
}

void ProgressDisplay::print(const std::string& text) {
  if (waiting_.size() + text.size() > kMaxWaitingBytes) return;
  waiting_ += take_clearing() + wrapped(text) + "\n";
  write_waiting();
}

// The last column stays free: some terminals wrap as soon as it is written.
std::size_t ProgressDisplay::usable_columns() const {
  const std::size_t columns = width_();
  return columns > 1 ? columns - 1 : 1;
}

// A terminal would break a long line within a word. Who reads from a pipe wants whole lines.
std::string ProgressDisplay::wrapped(const std::string& text) const {
  return style_ == ProgressStyle::kLive ? wrap_to_width(text, usable_columns()) : text;
}

void ProgressDisplay::draw(const std::vector<std::string>& block) {
  std::string text = take_clearing();
  for (const std::string& line : block) text += fit_to_width(line, usable_columns()) + "\n";
  lines_drawn_ = block.size();
  out_ << text << std::flush;
}

// What removes the live block, once.
std::string ProgressDisplay::take_clearing() {
  if (lines_drawn_ == 0) return {};
  std::string text = "\r";
  for (; lines_drawn_ > 0; --lines_drawn_) text += kEmptyLineAbove;
  return text;
}

void ProgressDisplay::write_waiting() {
  if (waiting_.empty() || !writable_()) return;
  out_ << waiting_ << std::flush;
  waiting_.clear();
}

void ProgressDisplay::clear() {
  waiting_ += take_clearing();
  write_waiting();
}

void ProgressDisplay::show_end(const RunNumbers& numbers, const RunPlace& place) {
  if (std::exchange(ended_, true)) return;
  std::string text = std::exchange(waiting_, {}) + take_clearing();
  if (style_ == ProgressStyle::kQuiet) {
    text += end_line(numbers) + "\n";
  } else {
    for (const std::string& line : closing_text(numbers, place)) text += wrapped(line) + "\n";
  }
  out_ << text << std::flush;
}

}  // namespace scavenger::elastic
