#include "elastic/report/search_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "elastic/events/json_number.h"
#include "elastic/history/search_stays.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

using json = nlohmann::ordered_json;

std::optional<double> spent_seconds(const RunNumbers& numbers) {
  const SearchStays stays =
      search_stays(numbers, numbers.start.price_per_worker_hour, {}, /*is_remote=*/false);
  if (stays.stays.empty() || !stays.is_complete) return std::nullopt;
  return perfmodel::charged(stays.stays).seconds;
}

std::string words_for(const JobSize& size) {
  return fmt::format("K {}  B {}", size.workers, size.batch_size);
}

// "45 % less time (40 to 50 % less)", or "(10 % more to 50 % less)".
std::string saved_text(const PartSaved& saved, const char* of_what) {
  const auto word = [](double part) { return part < 0.0 ? "more" : "less"; };
  std::string text =
      fmt::format("{:.0f} % {} {}", 100.0 * std::abs(saved.value), word(saved.value), of_what);
  if (!std::isfinite(saved.low) || !std::isfinite(saved.high)) return text;
  const bool is_one_word = (saved.low < 0.0) == (saved.high < 0.0);
  return text + fmt::format(" ({:.0f}{} to {:.0f} % {})", 100.0 * std::abs(saved.low),
                            is_one_word ? "" : fmt::format(" % {}", word(saved.low)),
                            100.0 * std::abs(saved.high), word(saved.high));
}

std::string looks_text(const SearchSummary& summary) {
  if (summary.looks == 0) return "no look at another configuration was likely to pay";
  const std::string times = summary.looks == 1 ? "once" : fmt::format("{} times", summary.looks);
  if (!summary.spent_seconds) return fmt::format("it has looked elsewhere {}", times);
  return fmt::format("looking elsewhere ({}) has cost {}, {:.2g} % of the time", times,
                     format_duration(*summary.spent_seconds),
                     100.0 * *summary.spent_seconds / std::max(1e-9, summary.elapsed_seconds));
}

json part_json(const std::optional<PartSaved>& saved) {
  if (!saved || !std::isfinite(saved->value)) return nullptr;
  return {{"value", saved->value},
          {"low", number_or_null(saved->low)},
          {"high", number_or_null(saved->high)}};
}

json job_size_json(const JobSize& size) {
  return {{"workers", size.workers}, {"batch_size", size.batch_size}};
}

}  // namespace

std::optional<SearchSummary> summarise_search(const RunNumbers& numbers) {
  if (numbers.search_steps.latest.empty() || numbers.phases.empty()) return std::nullopt;
  SearchSummary summary;
  const fact::Membership &first = numbers.phases.front().membership,
                         &now = numbers.phases.back().membership;
  summary.first = {first.workers, first.batch_size};
  summary.now = {now.workers, now.batch_size};
  for (const auto& timed : numbers.search_steps.latest)
    summary.looks += timed.fact.phase == fact::SearchPhase::kProfiling ? 1 : 0;
  summary.decided = numbers.search_steps.latest.back().fact.reason;
  summary.spent_seconds = spent_seconds(numbers);
  summary.elapsed_seconds = numbers.seconds;
  if (summary.now == summary.first) return summary;
  const auto savings = savings_against_naive(numbers);
  if (!savings) return summary;
  for (const NaiveConfiguration& one : savings->naive)
    if (JobSize{one.predicted.workers, one.predicted.batch_size} == summary.first) {
      summary.seconds_saved = one.seconds_saved;
      summary.cost_saved = one.cost_saved;
    }
  return summary;
}

std::string search_sentence(const SearchSummary& summary) {
  std::string text = fmt::format("trains at {}, as configured", words_for(summary.first));
  if (summary.now != summary.first) {
    text = fmt::format("trains at {} in place of {}, as configured", words_for(summary.now),
                       words_for(summary.first));
    if (summary.seconds_saved)
      text += fmt::format(", for {}", saved_text(*summary.seconds_saved, "time"));
    if (summary.cost_saved) text += fmt::format(" and {}", saved_text(*summary.cost_saved, "cost"));
  }
  return fmt::format("{}; {}", text, looks_text(summary));
}

json search_summary_json(const RunNumbers& numbers) {
  const auto summary = summarise_search(numbers);
  if (!summary) return nullptr;
  return {{"sentence", search_sentence(*summary)},
          {"first", job_size_json(summary->first)},
          {"now", job_size_json(summary->now)},
          {"looks", summary->looks},
          {"decided", summary->decided},
          {"spent_seconds", summary->spent_seconds ? json(*summary->spent_seconds) : json(nullptr)},
          {"seconds_saved", part_json(summary->seconds_saved)},
          {"cost_saved", part_json(summary->cost_saved)}};
}

}  // namespace scavenger::elastic
