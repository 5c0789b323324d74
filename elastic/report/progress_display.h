// Shows people how a run goes, while it runs: a live block on a terminal, plain lines elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "elastic/events/event.h"
#include "elastic/history/recent_pace.h"
#include "elastic/history/run_numbers.h"
#include "elastic/report/progress_text.h"
#include "runtime/base/clock.h"

namespace scavenger::elastic {

enum class ProgressStyle {
  kLive,   // milestones and problems scroll by above a block that is redrawn in place
  kLines,  // every event that people care about, and the status every few seconds
  kQuiet   // problems, and one line at the end
};

// kQuiet if asked for; kLive if the file descriptor is a terminal that can do it.
ProgressStyle choose_progress_style(bool quiet, int file_descriptor);

// In columns; 80 if the file descriptor is no terminal.
std::uint32_t terminal_width(int file_descriptor);

// Whether a write of a few lines to the file descriptor would not block: not so on a terminal that
// the user has stopped with Ctrl-S, and on a pipe that nobody reads.
bool can_write_now(int file_descriptor);

// Writes whole blocks at once and flushes; never hides the cursor, so a kill leaves the terminal in
// order. Who else writes to the same terminal calls clear() first. One thread.
class ProgressDisplay final {
 public:
  static constexpr double kRedrawSeconds = 0.25;  // kLive: at most so often
  static constexpr double kLineSeconds = 5.0;     // kLines: at least so often, while events come
  static constexpr std::size_t kMaxWaitingBytes = 1 << 16;

  // `width` is asked before each drawing, since people resize windows. While `writable` says no,
  // what matters waits, up to kMaxWaitingBytes of it, and the status is not shown. Stream and clock
  // must outlive the display.
  ProgressDisplay(
      std::ostream& out, const Clock& clock, ProgressStyle style,
      std::function<std::uint32_t()> width, std::function<bool()> writable = [] { return true; });

  // `numbers` with the event already in them.
  void show_event(const LoggedEvent& logged, const RunNumbers& numbers);
  // Something that is no event.
  void show_note(const std::string& text);
  // Call now and then, so that the time moves on while no events come.
  void tick(const RunNumbers& numbers);
  // Removes the live block; the next drawing brings it back.
  void clear();
  // The last words. Removes the live block for good. Written in any case, which may block.
  void show_end(const RunNumbers& numbers, const RunPlace& place);

 private:
  void show_status_if_due(const RunNumbers& numbers);
  void print(const std::string& text);
  void draw(const std::vector<std::string>& block);
  std::string take_clearing();
  std::size_t usable_columns() const;
  std::string wrapped(const std::string& text) const;
  void write_waiting();

  std::ostream& out_;
  const Clock& clock_;
  ProgressStyle style_;
  std::function<std::uint32_t()> width_;
  std::function<bool()> writable_;
  std::string waiting_;
  RecentPace pace_;
  std::size_t lines_drawn_ = 0;
  double event_clock_ = 0.0;   // the clock at the last event
  double status_clock_ = 0.0;  // the clock at the last status shown
  bool ended_ = false;
};

}  // namespace scavenger::elastic
