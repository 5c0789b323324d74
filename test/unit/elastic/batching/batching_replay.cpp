// Whether the decisions of a job follow from its event log: batching_replay RUN_FOLDER. Reads the
// log as somebody would who was not there, and compares the shares of each membership with those
// that the controller proposes from what was logged before.
#include <fmt/format.h>

#include <filesystem>

#include "elastic/batching/batch_controller.h"
#include "elastic/events/event_log.h"
#include "elastic/providers/job_provider.h"
#include "runtime/config/config_file.h"

int main(int count, char** words) {
  using namespace scavenger;
  using namespace scavenger::elastic;
  if (count != 2) return 2;
  const std::filesystem::path run = words[1];
  const JobConfig config = load_job_config(run / "config.json", {});
  const MachineCatalogue machines = provider_factory(config.provider.type).catalogue(config, 0);
  BatchController controller(batching_settings(config, machines));
  EventLogReader log(run / "events.jsonl");
  int proposals = 0, memberships = 0;
  // A membership that was just being made when a proposal came is still without it.
  ShareRule rule_before = controller.rule();
  while (const auto logged = log.next()) {
    if (const auto* membership = std::get_if<fact::Membership>(&logged->event)) {
      ++memberships;
      const auto expected =
          shares_of(controller.rule(), membership->batch_size, membership->indices);
      const auto expected_before =
          shares_of(rule_before, membership->batch_size, membership->indices);
      if (expected != membership->shares && expected_before != membership->shares) {
        fmt::print("membership {}: the log has shares {}, a replay {}\n",
                   membership->membership_epoch, fmt::join(membership->shares, ", "),
                   fmt::join(expected, ", "));
        return 1;
      }
    }
    const ShareRule rule = controller.rule();
    if (!controller.observe(logged->event)) continue;
    ++proposals;
    rule_before = rule;
  }
  fmt::print("{} proposals, {} memberships\n", proposals, memberships);
  return proposals > 0 ? 0 : 1;
}
