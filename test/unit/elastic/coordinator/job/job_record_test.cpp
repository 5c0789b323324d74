#include "elastic/coordinator/job/job_record.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>
#include <string>

#include "elastic/events/event_log.h"
#include "test/support/manual_clock.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {

TEST_CASE("What comes again and again does not fill the log, and the log says so") {
  const TemporaryFolder folder;
  const RunFolder run{folder.path()};
  ManualClock clock;
  std::ostringstream screen;
  JobRecord record(run, clock, {.output = screen});
  record.log(sample_start());
  fact::Machine refused;
  refused.change = fact::MachineChange::kRefused;
  refused.reason = std::string(200, 'q');
  for (int second = 0; second < 600; ++second) {  // 100 of each a second
    for (int i = 0; i < 100; ++i) {
      clock.seconds += 0.01;
      record.log(fact::Warning{std::string(200, 'w')});
      record.log(refused);
    }
    record.show_tick();
  }
  CHECK(static_cast<double>(std::filesystem::file_size(run.events())) <
        LogBudget::kBurstBytes + LogBudget::kBytesPerSecond * 600.0);

  clock.seconds += 600.0;
  record.show_tick();
  EventLogReader log(run.events());
  std::uint64_t logged = 0, left_out = 0;
  while (const auto event = log.next()) {
    const auto* warning = std::get_if<fact::Warning>(&event->event);
    if (warning != nullptr && warning->text.find("are not in the log") != std::string::npos)
      left_out += std::stoull(warning->text);
    else if (!std::holds_alternative<fact::Start>(event->event))
      ++logged;
  }
  CHECK(left_out > 0);
  CHECK(logged + left_out == 2 * 60000);
}

}  // namespace scavenger::elastic
