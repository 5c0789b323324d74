// scavenger-report: a page that shows one or several runs: docs/page.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "apps/command_line/command_line.h"
#include "apps/command_line/user_program.h"
#include "campaign/report/report_files.h"
#include "campaign/run/campaign_folder.h"
#include "elastic/events/event_log.h"
#include "elastic/page/page_data.h"
#include "elastic/page/report_page.h"
#include "elastic/page/tensorboard_mirror.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/base/version.h"

namespace scavenger {
namespace {

struct Arguments {
  std::vector<std::string> runs;
  std::string output;
  std::string tensorboard;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", version_line("scavenger-report"));
  app.add_option("RUN", arguments.runs,
                 "Run folders, such as runs/fashion_mlp; several are shown side by side")
      ->required();
  app.add_option("--output", arguments.output,
                 "The page to write (RUN/report.html; of several runs: report.html)");
  app.add_option("--tensorboard", arguments.tensorboard,
                 "Instead: write the run's scalars for TensorBoard into this folder");
}

elastic::RunHistory read_history(const std::filesystem::path& run) {
  const std::filesystem::path log = run / "events.jsonl";
  if (!std::filesystem::exists(log))
    throw InputError({.what = "there is no events.jsonl, so this is no run folder",
                      .where = run.string(),
                      .remedy = "name a folder that scavenger-train has written, such as "
                                "runs/fashion_mlp"});
  elastic::EventLogReader reader(log);
  elastic::RunHistory history;
  while (const auto logged = reader.next()) history.apply(*logged);
  if (history.numbers().starts.total == 0)
    throw InputError({.what = "the event log is empty", .where = log.string(), .remedy = {}});
  return history;
}

void write_tensorboard(const Arguments& arguments) {
  if (arguments.runs.size() != 1)
    throw InputError({.what = "TensorBoard wants a folder for each run",
                      .where = "--tensorboard",
                      .remedy = "call this once for each run, with folders beside each other"});
  read_history(arguments.runs[0]);  // it is a run
  elastic::mirror_to_tensorboard(arguments.runs[0], arguments.tensorboard);
}

// docs/campaigns.md
void write_campaign_page(const Arguments& arguments) {
  if (arguments.runs.size() != 1)
    throw InputError({.what = "a campaign has a page of its own",
                      .where = "command line",
                      .remedy = "name one run folder"});
  const auto folder = campaign::open_campaign_folder(arguments.runs[0]);
  const std::filesystem::path output =
      arguments.output.empty() ? folder.page() : std::filesystem::path(arguments.output);
  const campaign::ReplayedLog log = campaign::replay(folder);
  campaign::write_report_document(folder, log.campaign, log.seconds);
  campaign::write_report_page(folder, log.campaign, log.seconds, output);
  std::cout << output.string() << ": " << format_bytes(std::filesystem::file_size(output)) << "\n";
}

void write_page(const Arguments& arguments) {
  std::vector<std::string> runs;
  std::string title;
  for (const std::string& run : arguments.runs) {
    const elastic::RunHistory history = read_history(run);
    runs.push_back(elastic::to_json_object(elastic::page_sections(history, run)));
    title += (title.empty() ? "" : ", ") + history.numbers().start.name;
  }
  std::filesystem::path output = arguments.output;
  if (output.empty())
    output = arguments.runs.size() == 1 ? std::filesystem::path(arguments.runs[0]) / "report.html"
                                        : std::filesystem::path("report.html");
  const std::string page = elastic::report_page(runs, title);
  write_output_file(output, page);
  std::cout << output.string() << ": " << format_bytes(page.size()) << "\n";
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  using namespace scavenger;
  CLI::App app("Makes a page that shows runs: what was decided, what it cost, and why.",
               "scavenger-report");
  Arguments arguments;
  declare(app, arguments);
  if (const auto exit_code = parse_command_line(app, argc, argv)) return *exit_code;
  return run_user_program("scavenger-report", [&] {
    if (std::ranges::any_of(arguments.runs, campaign::is_campaign))
      write_campaign_page(arguments);
    else if (arguments.tensorboard.empty())
      write_page(arguments);
    else
      write_tensorboard(arguments);
    return 0;
  });
}
