#include "elastic/jobs/job_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include "elastic/coordinator/commands/control_socket.h"
#include "elastic/coordinator/job/job_registry.h"
#include "elastic/report/quantity_text.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"

namespace scavenger::elastic {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kKeys[] = {"name",       "workers",      "batch_size",
                                 "evaluation", "cost_dollars", "started_utc"};

Json job_at(const fs::path& run_folder, const std::string& state, const Json& pid) {
  Json job{{"run_folder", run_folder.string()}, {"state", state}, {"pid", pid}};
  for (const char* key : kKeys) job[key] = nullptr;
  return job;
}

Json running_job(const RegisteredJob& registered) {
  Json job = job_at(registered.run_folder, "starting", registered.pid);
  job["name"] = registered.run_folder.filename().string();
  try {
    const Json status = ask_job(registered.run_folder, {{"command", "status"}});
    job["state"] = status.at("state");
    for (const char* key : kKeys) job[key] = status.value(key, Json());
  } catch (const ConnectionError&) {
    job["state"] = "does not answer";
  } catch (const InputError&) {  // it does not listen yet, or not any more
  }
  return job;
}

// Of a list of the report, or of its latest entries.
Json last_of(const Json& list) {
  const Json& entries = list.is_object() ? list.at("latest") : list;
  return entries.empty() ? Json() : entries.back();
}

// Of the target's metric, else accuracy where there is one, else the loss.
Json last_evaluation(const Json& report) {
  const Json& target = report.at("environment").at("target");
  const std::string split = target.is_null() ? "test" : target.at("split").get<std::string>();
  for (const Json& one : report.at("splits")) {
    if (one.at("split") != split) continue;
    const Json& last = one.at("last");
    std::string metric = last.value("accuracy", Json()).is_null() ? "loss" : "accuracy";
    if (!target.is_null()) metric = target.at("metric").get<std::string>();
    return {{"metric", metric}, {"split", split}, {"value", last.value(metric, Json())}};
  }
  return {};
}

std::optional<Json> ended_job(const fs::path& run_folder) {
  if (!fs::exists(run_folder / "config.json") || !fs::exists(run_folder / "events.jsonl"))
    return std::nullopt;
  Json job = job_at(run_folder, "no report", nullptr);
  job["name"] = run_folder.filename().string();
  try {
    const Json report = parse_json<Json>(read_file(run_folder / "report.json"));
    const std::string status = report.at("status").get<std::string>();
    job["state"] = status == "running" ? "killed" : status;
    job["name"] = report.at("name");
    job["cost_dollars"] = report.at("totals").at("cost");
    job["started_utc"] = report.at("environment").at("utc");
    job["evaluation"] = last_evaluation(report);
    if (const Json phase = last_of(report.at("phases")); !phase.is_null()) {
      job["workers"] = phase.at("workers");
      job["batch_size"] = phase.at("batch_size");
    }
  } catch (const SystemError&) {  // there is none
  } catch (const Json::exception&) {
    job["state"] = "unreadable report";
  }
  return job;
}

std::string number_or_dash(const Json& value) {
  return value.is_number() ? format_count(value.get<std::uint64_t>()) : "-";
}

std::string evaluation_text(const Json& evaluation) {
  if (evaluation.is_null() || !evaluation.at("value").is_number()) return "-";
  const auto split = find_word<Split>(evaluation.at("split").get<std::string>());
  const auto metric = find_word<Metric>(evaluation.at("metric").get<std::string>());
  if (!split || !metric) return "-";  // a newer version's job
  return format_metric(*split, *metric, evaluation.at("value").get<double>());
}

using Row = std::array<std::string, 8>;

Row row_of(const Json& job) {
  std::string state = job.at("state").get<std::string>();
  std::ranges::replace(state, '_', ' ');
  const Json& cost = job.at("cost_dollars");
  const Json& since = job.at("started_utc");
  return {state,
          printable(job.at("name").get<std::string>()),
          number_or_dash(job.at("workers")),
          number_or_dash(job.at("batch_size")),
          evaluation_text(job.at("evaluation")),
          cost.is_number() ? format_dollars(cost.get<double>()) : "-",
          since.is_string() ? printable(since.get<std::string>()) : "-",
          printable(job.at("run_folder").get<std::string>())};
}

}  // namespace

Json list_jobs(const fs::path& folder) {
  Json jobs = Json::array();
  std::set<fs::path> running;
  if (const auto registry = job_registry_folder()) {
    for (const RegisteredJob& registered : registered_jobs(*registry)) {
      jobs.push_back(running_job(registered));
      running.insert(fs::weakly_canonical(registered.run_folder));
    }
  }
  if (folder.empty()) return jobs;
  std::error_code error;
  std::vector<fs::path> folders;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    folders.push_back(fs::weakly_canonical(entry->path()));
  if (error)
    throw InputError({.what = "the folder of runs cannot be read: " + error.message(),
                      .where = folder.string(),
                      .remedy = "name the folder that holds the run folders, such as runs"});
  std::ranges::sort(folders);
  for (const fs::path& path : folders)
    if (!running.contains(path))
      if (auto job = ended_job(path)) jobs.push_back(std::move(*job));
  return jobs;
}

std::string job_table(const Json& jobs) {
  if (jobs.empty()) return "no jobs\n";
  std::vector<Row> rows{{"STATE", "NAME", "K", "B", "METRIC", "COST", "SINCE (UTC)", "RUN"}};
  for (const Json& job : jobs) rows.push_back(row_of(job));
  Row::size_type last = rows.front().size() - 1;
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < last; ++column) {
      std::size_t width = 0;
      for (const Row& other : rows) width = std::max(width, other[column].size());
      text += fmt::format("{:<{}}  ", row[column], width);
    }
    text += row[last] + "\n";
  }
  return text;
}

}  // namespace scavenger::elastic
