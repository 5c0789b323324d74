// Shows people how a run goes, while it runs: a live block on a terminal, plain lines elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "elastic/report/event.h"
#include "elastic/report/progress_text.h"
#include "elastic/report/recent_pace.h"
#include "elastic/report/run_numbers.h"
#include "runtime/base/clock.h"

namespace scavenger::elastic {

enum class ProgressStyle {
  kLive,   // milestones and problems scroll by above a block that is redrawn in place
  kLines,  // every event that people care about, and the status every few seconds
  kQuiet   // problems, and one line at the end
};

// kQuiet where asked for; kLive where the file descriptor is a terminal that can do it.
ProgressStyle choose_progress_style(bool quiet, int file_descriptor);

// In columns; 80 where the file descriptor is no terminal.
std::uint32_t terminal_width(int file_descriptor);

// Writes whole blocks at once and flushes; never hides the cursor, so a kill leaves the terminal in
// order. Who else writes to the same terminal calls clear() first. One thread. A reader that does
// not read blocks the caller, as with any stream.
class ProgressDisplay final {
 public:
  static constexpr double kRedrawSeconds = 0.25;  // kLive: at most so often
  static constexpr double kLineSeconds = 5.0;     // kLines: at least so often, while events come

  // `width` is asked before each drawing, since people resize windows. Stream and clock must
  // outlive the display.
  ProgressDisplay(std::ostream& out, const Clock& clock, ProgressStyle style,
                  std::function<std::uint32_t()> width);

  // `numbers` with the event already in them.
  void show_event(const LoggedEvent& logged, const RunNumbers& numbers);
  // Call now and then, so that the time moves on while no events come.
  void tick(const RunNumbers& numbers);
  // Removes the live block; the next drawing brings it back.
  void clear();
  // The last words. Removes the live block for good.
  void show_end(const RunNumbers& numbers, const std::string& run_folder);

 private:
  void show_status_if_due(const RunNumbers& numbers);
  void print(const std::string& text);
  void draw(const std::vector<std::string>& block);
  std::string clearing() const;

  std::ostream& out_;
  const Clock& clock_;
  ProgressStyle style_;
  std::function<std::uint32_t()> width_;
  RecentPace pace_;
  std::size_t lines_drawn_ = 0;
  double event_clock_ = 0.0;   // the clock at the last event
  double status_clock_ = 0.0;  // the clock at the last status shown
  bool ended_ = false;
};

}  // namespace scavenger::elastic
