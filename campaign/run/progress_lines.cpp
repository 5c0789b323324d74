#include "campaign/run/progress_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/text.h"

namespace scavenger::campaign {
namespace {

std::string machine_name(const Campaign& campaign, MachineId id) {
  const auto found = campaign.machines().find(id);
  if (found == campaign.machines().end() || found->second.facts.name.empty())
    return fmt::format("machine {}", id);
  return fmt::format("machine {} ({})", id, found->second.facts.name);
}

std::string line_of(const Campaign& campaign, const event::Judged& judged, double seconds) {
  const SimulationRecord& record = campaign.simulations().at(judged.point);
  const std::string text = campaign.space().text_at(judged.point);
  if (record.state != SimulationState::kDone)
    return fmt::format("{}: {}: {}", text, name_of(record.state), record.reason);
  return fmt::format("{}: done, {} of computing; {} done, {}, ${:.4f}", text,
                     format_duration(record.cost().seconds),
                     count_of(campaign, SimulationState::kDone), format_duration(seconds),
                     campaign.ledger().dollars(seconds));
}

std::string line_of(const Campaign& campaign, const event::MachineReady& ready, double) {
  const auto found = campaign.machines().find(ready.machine);
  if (found == campaign.machines().end()) return {};
  return fmt::format("{} is there, for {} simulations at a time, ${:g} an hour",
                     machine_name(campaign, ready.machine), found->second.slots.size(),
                     ready.price_per_hour);
}

std::string line_of(const Campaign&, const event::MachineLost& lost, double) {
  return fmt::format("machine {} {}", lost.machine, lost.how);
}

std::string line_of(const Campaign& campaign, const event::MachineNotice& notice, double) {
  return machine_name(campaign, notice.machine) + " is about to be taken away";
}

std::string line_of(const Campaign&, const event::MachineRefused& refused, double) {
  return "no machine: " + refused.reason;
}

std::string line_of(const Campaign&, const event::HostLost& lost, double) {
  return fmt::format("machine {} is given up: {}", lost.machine, lost.how);
}

std::string line_of(const Campaign&, const event::TaskFailed& failed, double) {
  return failed.how == "stopped" ? std::string()
                                 : fmt::format("a simulation {}: {}", failed.how, failed.reason);
}

std::string line_of(const Campaign&, const event::Advised& advised, double) {
  std::string text = fmt::format("a surrogate was trained from {} results", advised.results);
  if (advised.left_out > 0) text += fmt::format(", without {} of them", advised.left_out);
  if (advised.profiles >= 2)
    text += fmt::format(": its error on the holdout is {:.4g} (at most {:.4g})", advised.rmse,
                        advised.most_rmse);
  return text;
}

std::string line_of(const Campaign&, const event::TrainingFailed& failed, double) {
  return fmt::format("no surrogate could be trained from {} results", failed.results);
}

template <typename Event>
std::string line_of(const Campaign&, const Event&, double) {
  return {};
}

}  // namespace

std::string progress_line(const Campaign& campaign, const CampaignEvent& event, double seconds) {
  return std::visit([&](const auto& happened) { return line_of(campaign, happened, seconds); },
                    event);
}

std::string summary_text(const Campaign& campaign, double seconds) {
  const Amounts amounts = campaign.ledger().amounts(seconds);
  double all = 0.0;
  Amount sum;
  for (const Amount& amount : amounts) {
    all += amount.seconds;
    sum.add(amount);
  }
  std::string text = fmt::format(
      "{} of {} points simulated in {}: {} done, {} diverged, {} failed; {} machines lost\n",
      campaign.simulations().size(), campaign.space().size(), format_duration(seconds),
      count_of(campaign, SimulationState::kDone), count_of(campaign, SimulationState::kDiverged),
      count_of(campaign, SimulationState::kFailed), campaign.losses());
  for (const auto& [word, name] : kSpentNames) {
    const Amount& amount = amounts[static_cast<std::size_t>(word)];
    text +=
        fmt::format("  {:<10} {:>12} {:5.1f} %  ${:.4f}\n", name, format_duration(amount.seconds),
                    all > 0.0 ? 100.0 * amount.seconds / all : 0.0, amount.dollars);
  }
  text += fmt::format("  {:<10} {:>12} {:5.1f} %  ${:.4f}\n", "all", format_duration(all), 100.0,
                      sum.dollars);
  return text;
}

}  // namespace scavenger::campaign
