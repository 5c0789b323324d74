// scavenger-ctl: asks a running job how it is, and tells it to change: docs/control.md.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/command_line/calibrate_command.h"
#include "apps/command_line/command_line.h"
#include "apps/command_line/user_program.h"
#include "cloud_gcp/provider/job_vm_visit.h"
#include "elastic/coordinator/commands/control_socket.h"
#include "elastic/jobs/answer_text.h"
#include "elastic/jobs/job_list.h"
#include "elastic/jobs/job_top.h"
#include "elastic/providers/job_provider.h"
#include "kubernetes/provider/manifests.h"
#include "kubernetes/provider/pod_visit.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/text.h"
#include "runtime/base/version.h"
#include "runtime/net/asio.h"
#include "runtime/provider/machine_visit.h"
#include "runtime/provider/ssh/ssh_install.h"
#include "runtime/schema/input_file.h"

namespace scavenger {
namespace {

using Json = nlohmann::json;

constexpr auto kLookAgain = std::chrono::milliseconds(100);

struct Arguments {
  std::string run;
  std::string command;
  std::uint32_t workers = 0;
  std::uint32_t batch_size = 0;
  bool wait = false;
  bool json = false;
  bool all = false;
  std::string folder = "runs";
};

void declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", version_line("scavenger-ctl"));
  app.add_option("RUN", arguments.run, "The run folder of a running job, such as runs/fashion_mlp");
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* what) {
    CLI::App* const command = app.add_subcommand(name, what);
    command->add_flag("--json", arguments.json, "Print the answer as JSON");
    command->callback([&arguments, name] { arguments.command = name; });
    return command;
  };
  add("status", "Say how the job is");
  CLI::App* const list = add("list", "Show the jobs of this machine and user (needs no RUN)");
  list->add_flag("--all", arguments.all, "Also those in FOLDER that have ended");
  list->add_option("FOLDER", arguments.folder, "What holds the run folders")->capture_default_str();
  app.add_subcommand("top", "Show how it goes, until it ends or Ctrl-C")->callback([&arguments] {
    arguments.command = "top";
  });
  CLI::App* const resize =
      add("resize", "Go on with other workers or another batch, while training goes on");
  resize->add_option("--workers", arguments.workers, "K")->check(kPositive);
  resize->add_option("--batch-size", arguments.batch_size, "B, the global batch")->check(kPositive);
  resize->add_flag("--wait", arguments.wait, "Until the job trains so");
  add("checkpoint", "Write a checkpoint at the next boundary");
  add("pause", "Write a checkpoint, and wait");
  add("continue", "Go on after a pause");
  add("stop", "Finish the iteration, write a checkpoint, and end");
  add("clean", "Remove what killed jobs have left on this machine (needs no RUN)");
}

// What CLI11 would only call unexpected: "status r2" and "r2 stat". Empty where it is neither.
std::string problem_of_order(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.size() < 2 || words[0].starts_with('-') || words[1].starts_with('-')) return {};
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(command->get_name());
  const auto is_command = [&](const std::string& word) {
    return std::ranges::find(commands, word) != commands.end();
  };
  const std::vector<std::string> of_a_run = {"status", "top",      "resize", "checkpoint",
                                             "pause",  "continue", "stop"};
  if (std::ranges::find(of_a_run, words[0]) != of_a_run.end() && !is_command(words[1]))
    return fmt::format("the run folder comes first: scavenger-ctl {} {}", words[1], words[0]);
  if (is_command(words[0]) || is_command(words[1])) return {};
  const std::string near = nearest_word(words[1], commands);
  return fmt::format("there is no command \"{}\"; {}", words[1],
                     near.empty() ? "the commands are " + join_words(commands)
                                  : fmt::format("did you mean \"{}\"?", near));
}

Json command_of(const Arguments& arguments) {
  Json command{{"command", arguments.command}};
  if (arguments.workers > 0) command["workers"] = arguments.workers;
  if (arguments.batch_size > 0) command["batch_size"] = arguments.batch_size;
  return command;
}

// Until it trains with what was asked for.
void wait_for_size(const std::string& run, const Json& wanted) {
  asio::io_context io;
  for (;;) {
    const Json status = elastic::ask_job(run, {{"command", "status"}});
    if (status.at("workers") == wanted.at("workers") &&
        status.at("batch_size") == wanted.at("batch_size") && status.at("state") == "training")
      return;
    if (status.at("wanted_workers") != wanted.at("workers") ||
        status.at("wanted_batch_size") != wanted.at("batch_size"))
      throw InputError({.what = "the job was told otherwise meanwhile, or workers cannot be had",
                        .where = run,
                        .remedy = "see its events"});
    asio::steady_timer(io, kLookAgain).wait();
  }
}

void clean(bool as_json) {
  const std::vector<std::string> removed = elastic::clean_after_killed_jobs();
  if (as_json) {
    std::cout << json_text(Json{{"removed", removed}}) << "\n";
    return;
  }
  for (const std::string& what : removed) std::cout << "removed " << what << "\n";
  if (removed.empty()) std::cout << "there was nothing to remove\n";
}

void control(const Arguments& arguments) {
  if (arguments.command == "clean") return clean(arguments.json);
  if (arguments.command == "list") {
    const Json jobs = elastic::list_jobs(arguments.all ? arguments.folder : "");
    std::cout << (arguments.json ? json_text(jobs) + "\n" : elastic::job_table(jobs));
    return;
  }
  if (arguments.run.empty())
    throw InputError({.what = "it is not said which job",
                      .where = "command line",
                      .remedy = "name its run folder: scavenger-ctl RUN " + arguments.command});
  if (arguments.command == "top") return elastic::show_top(arguments.run, std::cout);
  const Json answer = elastic::ask_job(arguments.run, command_of(arguments));
  if (arguments.wait) wait_for_size(arguments.run, answer);
  std::cout << (arguments.json ? json_text(answer)
                               : elastic::answer_text(arguments.command, answer))
            << "\n";
}

// ---- VMs on Compute Engine, and Pods. ----

bool asks_whether_to_delete(std::size_t count, const char* command) {
  if (::isatty(STDIN_FILENO) == 0)
    throw InputError({.what = "nobody can be asked here", .where = command, .remedy = "add --yes"});
  std::cout << fmt::format(
                   "Delete {} of them for good? Jobs that still run lose their workers. [y/N] ",
                   count)
            << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

// A visit that deletes all machines that it finds, if `is_certain` or if the user agrees.
MachineVisit sweep_of(const std::string& job, const char* command, bool is_certain) {
  return {.job = job, .may_delete = [=](std::size_t count) {
            return is_certain || asks_whether_to_delete(count, command);
          }};
}

class GcpCommand final {
 public:
  explicit GcpCommand(CLI::App& app) {
    command_ = app.add_subcommand("gcp", "VMs that jobs have on Google Compute Engine");
    command_->require_subcommand(1);
    add_options(*command_->add_subcommand("list", "Show them"));
    sweep_ = command_->add_subcommand("sweep", "Delete them, after asking");
    add_options(*sweep_);
    sweep_->add_flag("--yes", is_certain_, "Do not ask");
  }

  bool is_called() const { return command_->parsed(); }

  int run() const {
    gcp::GcpSettings settings = gcp::settings_of_job(source_);
    if (!zones_.empty()) settings.zones = zones_;
    const MachineVisit visit = sweep_->parsed() ? sweep_of(job_, "gcp sweep", is_certain_)
                                                : MachineVisit{.job = job_, .may_delete = {}};
    return gcp::visit_job_vms(settings, visit, std::cout) ? 0 : 1;
  }

 private:
  void add_options(CLI::App& command) {
    command
        .add_option("SOURCE", source_,
                    "A run folder, or a configuration: project, zones, credentials")
        ->required()
        ->check(CLI::ExistingPath);
    command.add_option("--job", job_, "Only of this job, as list shows it");
    command.add_option("--zone", zones_, "Another zone than those of SOURCE; may be repeated")
        ->allow_extra_args(false);
  }

  CLI::App* command_ = nullptr;
  CLI::App* sweep_ = nullptr;
  std::filesystem::path source_;  // a run folder, or a configuration
  std::string job_;
  std::vector<std::string> zones_;
  bool is_certain_ = false;  // do not ask
};

class KubernetesCommand final {
 public:
  explicit KubernetesCommand(CLI::App& app) {
    command_ = app.add_subcommand("k8s", "Pods that jobs have in a Kubernetes cluster");
    command_->require_subcommand(1);
    add_visit_options(*command_->add_subcommand("list", "Show them"));
    sweep_ = command_->add_subcommand("sweep", "Delete them, after asking");
    add_visit_options(*sweep_);
    sweep_->add_flag("--yes", is_certain_, "Do not ask");
    render_ = command_->add_subcommand(
        "render", "Print what runs a job in a cluster altogether, for kubectl apply -f -");
    add_source(*render_, "The configuration of the job");
    render_->add_option("--name", manifest_.name, "Of the job and its objects")->required();
    render_->add_option("--storage", manifest_.storage, "Of the volume with the run folder")
        ->capture_default_str();
    render_->add_option("--storage-class", manifest_.storage_class, "Of this volume");
    render_->add_option("--cores", manifest_.cores, "Of scavenger-train with its shards")
        ->capture_default_str();
    render_->add_option("--memory-gib", manifest_.memory_gib, "Of the same")->capture_default_str();
  }

  bool is_called() const { return command_->parsed(); }

  int run() const {
    kubernetes::KubernetesSettings settings = kubernetes::settings_of_job(source_);
    if (!namespace_.empty()) settings.namespace_name = namespace_;
    if (render_->parsed()) {
      kubernetes::JobManifest job = manifest_;
      job.config = read_input_file(source_, "name a configuration");
      job.namespace_name = settings.namespace_name;
      std::cout << json_text(kubernetes::job_manifests(settings, job), {.indent = 2}) << "\n";
      return 0;
    }
    const MachineVisit visit = sweep_->parsed() ? sweep_of(job_, "k8s sweep", is_certain_)
                                                : MachineVisit{.job = job_, .may_delete = {}};
    return kubernetes::visit_job_pods(settings, visit, std::cout) ? 0 : 1;
  }

 private:
  void add_source(CLI::App& command, const char* what) {
    command.add_option("SOURCE", source_, what)->required()->check(CLI::ExistingPath);
    command.add_option("--namespace", namespace_, "Another one than that of SOURCE");
  }
  void add_visit_options(CLI::App& command) {
    add_source(command, "A run folder, or a configuration: cluster, namespace, credentials");
    command.add_option("--job", job_, "Only of this job, as list shows it");
  }

  CLI::App* command_ = nullptr;
  CLI::App* sweep_ = nullptr;
  CLI::App* render_ = nullptr;
  std::filesystem::path source_;  // a run folder, or a configuration
  std::string namespace_;
  std::string job_;
  kubernetes::JobManifest manifest_;
  bool is_certain_ = false;  // do not ask
};

// ---- Programs on other hosts. ----

class InstallCommand final {
 public:
  explicit InstallCommand(CLI::App& app) {
    command_ = app.add_subcommand("install", "Copy Scavenger to hosts that ssh reaches");
    command_->add_option("HOSTS", hosts_, "As ssh takes them: vm1, or user@10.0.0.2")->required();
    command_->add_option("--from", installation_.source,
                         "The folder of cmake --install, or a wheel; empty: that of this program");
    command_->add_option("--to", installation_.folder, "The folder on the hosts")
        ->capture_default_str();
    command_->add_option("--python", installation_.python, "For a wheel: Python with PyTorch there")
        ->capture_default_str();
    command_->add_option("--ssh-option", installation_.options, "A word for ssh; may be repeated")
        ->allow_extra_args(false);
  }

  bool is_called() const { return command_->parsed(); }

  int run() const {
    SshInstallation installation = installation_;
    if (installation.source.empty())
      installation.source = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "..";
    if (const std::string problem = problem_of(installation); !problem.empty())
      throw InputError({.what = problem, .where = "install", .remedy = "see --from and --to"});
    asio::io_context io;
    std::size_t failures = 0;
    for (const std::string& host : hosts_)
      asio::co_spawn(
          io, install_over_ssh(installation, host, version_line("scavenger-ps")),
          [&failures, &installation, &host](const std::exception_ptr& error,
                                            const std::string& problem) {
            if (error) std::rethrow_exception(error);
            failures += problem.empty() ? 0U : 1U;
            std::cout << (problem.empty()
                              ? fmt::format("{}: {} has this build\n", host, installation.folder)
                              : fmt::format("{}: failed: {}\n", host, problem))
                      << std::flush;
          });
    io.run();
    if (failures == 0)
      std::cout << fmt::format("set provider.program_folder to \"{}/bin\"\n", installation.folder);
    return failures == 0 ? 0 : 1;
  }

 private:
  CLI::App* command_ = nullptr;
  std::vector<std::string> hosts_;
  SshInstallation installation_{.source = {}, .folder = "/opt/scavenger", .options = {}};
};

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  using namespace scavenger;
  CLI::App app("Asks a running job how it is, and tells it to change.", "scavenger-ctl");
  Arguments arguments;
  declare(app, arguments);
  const GcpCommand gcp(app);
  const KubernetesCommand k8s(app);
  const InstallCommand install(app);
  const CalibrateCommand calibrate(app);
  if (const std::string problem = problem_of_order(app, {argv + 1, argv + argc});
      !problem.empty()) {
    std::cerr << "scavenger-ctl: " << problem << "\n";
    return 2;
  }
  if (const auto exit_code = parse_command_line(app, argc, argv)) return *exit_code;
  return run_user_program("scavenger-ctl", [&] {
    if (gcp.is_called()) return gcp.run();
    if (k8s.is_called()) return k8s.run();
    if (install.is_called()) return install.run();
    if (calibrate.is_called()) return calibrate.run();
    control(arguments);
    return 0;
  });
}
