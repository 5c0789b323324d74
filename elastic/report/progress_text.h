// What the terminal says about a run, as plain lines of text. Pure: the terminal itself is
// progress_display.h.
#pragma once

#include <string>
#include <vector>

#include "elastic/history/recent_pace.h"
#include "elastic/history/run_numbers.h"
#include "runtime/vocabulary/status.h"

namespace scavenger::elastic {

// The status now, in parts from the most to the least important; `seconds` is the job's time now.
struct StatusText {
  std::string progress;  // "epoch 3.42 of 10  iteration 1,204"
  std::string quality;   // "loss 0.3124  test accuracy 87.12 % (target 88.00 %)"
  std::string speed;     // "12,340 samples/s  K 2  B 64  compute 3.14 ms  sync 420 us"
  // "65.0 s  $0.0012  to go at most 130 s  $0.0024 (125 s to 135 s, $0.0023 to $0.0025)"
  std::string effort;
  // "search profiling, next K 4  B 128  noise scale 310 (281 to 344)  to target 80 s  $0.01 (75 s
  // to 90 s, $0.0094 to $0.011)";
  // empty if nothing of it is known.
  std::string outlook;
};
StatusText status_text(const RunNumbers& numbers, const RecentPace& pace, double seconds);

// "fashion_mlp: target reached: test accuracy 88.12 % after 4.20 epochs, 1,968 iterations, 72.1 s".
std::string end_line(const RunNumbers& numbers);

// What to set, so that a job that has ended so trains on: "stop.max_epochs=..."; empty if it
// has not come to its end.
std::string longer_job(Status status);

// The block at the end of a run: outcome, time, cost, problems, where things are, what to do next.
struct RunPlace {
  std::string folder;
  bool has_report = true;
};
std::vector<std::string> closing_text(const RunNumbers& numbers, const RunPlace& place);

}  // namespace scavenger::elastic
