#include "runtime/provider/ssh/ssh_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/json_text.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/provider/launch_words.h"
#include "runtime/schema/json.h"

namespace scavenger {
namespace {

constexpr double kCheckSeconds = 20.0;
constexpr double kGiveUpSeconds = 600.0;  // on hosts that cannot be reached
constexpr double kRestSeconds = 10.0;     // a host that failed is not tried for so long
constexpr int kSshFailed = 255;           // exit code of ssh if ssh itself failed, not the command
constexpr int kNoSuchProgram = 127;       // exit codes of a shell
constexpr int kNotExecutable = 126;

// ssh never asks the user, notices within 15 s that the host is gone, and checks the host's key.
const std::vector<std::string> kOptions = {
    "-o", "BatchMode=yes",         "-o", "ConnectTimeout=10",        "-o", "ServerAliveInterval=5",
    "-o", "ServerAliveCountMax=3", "-o", "StrictHostKeyChecking=yes"};

// ssh joins its words by blanks and gives them to a shell on the host, so this script quotes each
// word of the command. The words for ssh itself come first, preceded by their number.
constexpr const char* kLaunchScript =
    "count=$1; shift; i=0\n"
    "command='exec'\n"
    "for word do\n"
    "  i=$((i + 1))\n"
    "  if [ $i -le $count ]; then set -- \"$@\" \"$word\"; else\n"
    "    command=\"$command '$(printf '%s\\n' \"$word\" | sed \"s/'/'\\\\\\\\''/g\")'\"\n"
    "  fi\n"
    "  shift\n"
    "done\n"
    "exec ssh \"$@\" \"$command\"\n";

}  // namespace

std::vector<std::string> ssh_words(const std::vector<std::string>& options,
                                   const std::string& destination) {
  std::vector<std::string> words = options;  // ssh takes the first value of an option
  words.insert(words.end(), kOptions.begin(), kOptions.end());
  words.push_back(destination);
  return words;
}

SshSettings ssh_settings(const ProviderConfig& config) {
  const Json json = parse_json<Json>(config.settings);
  SshSettings settings;
  for (const Json& host : json.at("hosts"))
    settings.hosts.push_back({.destination = host.at("destination"),
                              .address = host.at("address"),
                              .workers = host.at("workers"),
                              .machine = machine_description(host)});
  settings.options = json.at("options").get<std::vector<std::string>>();
  settings.launch_prefix = json.at("launch_prefix").get<std::vector<std::string>>();
  settings.prelude = json.at("prelude").get<std::vector<std::string>>();
  settings.program_folder = json.at("program_folder").get<std::string>();
  return settings;
}

MachineCatalogue ssh_catalogue(const SshSettings& settings) {
  MachineCatalogue catalogue;
  for (const SshHost& host : settings.hosts) {
    CatalogueEntry entry = catalogue_entry(host.machine);
    entry.zone = host.destination;
    entry.count = host.workers;
    catalogue.entries.push_back(std::move(entry));
  }
  return catalogue;
}

SshProvider::SshProvider(asio::io_context& io, const Clock& clock, SshSettings settings,
                         const std::filesystem::path& program_folder, std::string version_line)
    : Lessor(io),
      clock_(clock),
      settings_(std::move(settings)),
      catalogue_(ssh_catalogue(settings_)),
      program_folder_(settings_.program_folder.empty() ? program_folder : settings_.program_folder),
      version_line_(std::move(version_line)) {}

awaitable<void> SshProvider::open() {
  std::vector<std::string> words = {"ssh", "-V"};
  try {
    co_await run_command(std::move(words), std::string(), kCheckSeconds);
  } catch (const SystemError&) {
    Refusal refusal{RefusalKind::kBroken,
                    {.what = "there is no program ssh",
                     .where = "provider",
                     .remedy = "install it (Debian: openssh-client)"},
                    std::nullopt};
    throw MachineRefused(std::move(refusal));
  }
  for (const std::string& left : remove_abandoned_ssh_folders())
    log_info("removed what a killed process had left: {}", left);
  sockets_ = std::make_unique<SshSocketFolder>();
  for (const SshHost& host : settings_.hosts)
    connections_.push_back(
        std::make_unique<SshConnection>(io(), ssh_words(settings_.options, host.destination),
                                        sockets_->path() / std::to_string(connections_.size())));
}

std::optional<std::size_t> SshProvider::free_host(const std::string& type) const {
  const double now = clock_.now_seconds();
  for (std::size_t i = 0; i < settings_.hosts.size(); ++i) {
    if (!type.empty() && settings_.hosts[i].machine.type != type) continue;
    const auto used =
        std::ranges::count(host_of_, i, [](const auto& entry) { return entry.second; });
    const auto failure = failures_.find(i);
    if (std::cmp_less(used, settings_.hosts[i].workers) &&
        (failure == failures_.end() || failure->second.again_seconds <= now))
      return i;
  }
  return std::nullopt;
}

std::vector<std::string> SshProvider::launch_words(std::size_t host) const {
  std::vector<std::string> own = connections_[host]->options();
  const std::vector<std::string> rest =
      ssh_words(settings_.options, settings_.hosts[host].destination);
  own.insert(own.end(), rest.begin(), rest.end());
  std::vector<std::string> words = {"sh", "-c", kLaunchScript, "ssh-launch",
                                    std::to_string(own.size())};
  words.insert(words.end(), own.begin(), own.end());
  const std::vector<std::string> site = site_words(settings_.prelude, settings_.launch_prefix);
  words.insert(words.end(), site.begin(), site.end());
  return words;
}

// Checks that the host answers, and has the programs of this build. Throws MachineRefused if not.
awaitable<void> SshProvider::check(std::size_t host) const {
  co_await connections_[host]->open();
  const std::string name = version_line_.substr(0, version_line_.find(' '));
  const std::string program = (program_folder_ / name).string();
  std::vector<std::string> words = launch_words(host);
  words.push_back(program);
  words.push_back("--version");
  const CommandResult result = co_await run_command(std::move(words), std::string(), kCheckSeconds);
  std::optional<Refusal> refusal =
      ssh_refusal(result, settings_.hosts[host].destination, program, version_line_);
  if (refusal) throw MachineRefused(std::move(*refusal));
}

std::optional<Refusal> ssh_refusal(const CommandResult& result, const std::string& destination,
                                   const std::string& program, const std::string& version_line) {
  Refusal refusal{RefusalKind::kBroken,
                  {.what = {}, .where = "host " + destination, .remedy = {}},
                  kRestSeconds};
  if (result.output.find("Host key verification failed") != std::string::npos) {
    refusal.kind = RefusalKind::kPermission;
    refusal.problem.what = "its host key is not known, or is another one than before";
    refusal.problem.remedy = fmt::format(
        "compare the key with the host's (ssh-keyscan {}), and write it to ~/.ssh/known_hosts",
        destination.substr(destination.find('@') + 1));
  } else if (result.is_late || result.status.code == kSshFailed) {
    refusal.kind = RefusalKind::kUnreachable;
    refusal.problem.what = "ssh cannot reach it: " + result.failure();
    refusal.problem.remedy =
        fmt::format("see that \"ssh {} true\" works without a question", destination);
  } else if (result.status.code == kNoSuchProgram || result.status.code == kNotExecutable) {
    refusal.problem.what = "there is no program " + program;
    refusal.problem.remedy = "install the same build there, or set provider.program_folder";
  } else if (!result.succeeded()) {
    refusal.problem.what = fmt::format("{} does not run there: {}", program, result.failure());
    refusal.problem.remedy = "install the same build there, with the libraries that it needs";
  } else if (result.last_line() != version_line) {
    refusal.problem.what =
        fmt::format("it has {}, and this is {}", result.last_line(), version_line);
    refusal.problem.remedy = "install one build everywhere";
  } else {
    return std::nullopt;
  }
  return refusal;
}

awaitable<Machine> SshProvider::obtain(MachineId id, const MachineRequest& request) {
  const std::string type = request.type;
  const auto has_type = [&](const SshHost& host) { return host.machine.type == type; };
  if (!type.empty() && std::ranges::none_of(settings_.hosts, has_type))
    throw MachineRefused({RefusalKind::kInvalid,
                          {.what = "there is no host of type " + type,
                           .where = "provider.hosts",
                           .remedy = "name a type that one of them has"},
                          std::nullopt});
  std::optional<Refusal> last;
  while (is_wanted(id)) {
    const auto index = free_host(type);
    if (!index) break;
    host_of_[id] = *index;
    const SshHost& host = settings_.hosts[*index];
    try {
      co_await check(*index);
      failures_.erase(*index);
      Machine machine;
      machine.name = fmt::format("{}/{}", host.destination, id);
      machine.zone = host.destination;
      machine.type = host.machine.type;
      machine.cores = static_cast<std::uint32_t>(host.machine.cores);
      machine.price = price_of(host.machine, false);
      machine.address = host.address;
      machine.launch = launch_words(*index);
      machine.program_folder = program_folder_;
      co_return machine;
    } catch (const MachineRefused& refused) {
      last = refused.refusal();
    }
    tell_delayed(id, *last);
    host_of_.erase(id);
    note_failure(*index, last->kind);
  }
  if (!last)
    last = Refusal{RefusalKind::kCapacity,
                   {.what = "all hosts have the workers that they take, or failed lately",
                    .where = "provider.hosts",
                    .remedy = "add hosts, or raise `workers` of one"},
                   kRestSeconds};
  if (is_hopeless(type)) last->retry_after_seconds.reset();
  throw MachineRefused(std::move(*last));
}

void SshProvider::note_failure(std::size_t host, RefusalKind kind) {
  const double now = clock_.now_seconds();
  const auto [failure, is_first] = failures_.try_emplace(host, Failure{kind, now, now});
  failure->second.kind = kind;
  failure->second.again_seconds = now + kRestSeconds;
}

// A host that cannot be reached may come back. One whose key or programs are wrong needs the user.
bool SshProvider::is_hopeless(const std::string& type) const {
  if (!host_of_.empty()) return false;
  for (std::size_t i = 0; i < settings_.hosts.size(); ++i) {
    if (!type.empty() && settings_.hosts[i].machine.type != type) continue;
    const auto found = failures_.find(i);
    if (found == failures_.end()) return false;
    const Failure& failure = found->second;
    if (failure.kind == RefusalKind::kUnreachable &&
        clock_.now_seconds() - failure.since_seconds < kGiveUpSeconds)
      return false;
  }
  return true;
}

// Does not need to end the worker, which ends with its ssh connection.
awaitable<void> SshProvider::give_back(MachineId id) {
  host_of_.erase(id);
  co_return;
}

awaitable<std::vector<std::string>> SshProvider::close() {
  connections_.clear();
  sockets_.reset();
  co_return std::vector<std::string>();
}

namespace {

class SshFactory final : public ProviderFactory {
 public:
  MachineCatalogue catalogue(const JobConfig& config, std::uint32_t) const override {
    return ssh_catalogue(ssh_settings(config.provider));
  }
  std::unique_ptr<Provider> make(asio::io_context& io, const JobConfig& config,
                                 const ProviderHost& host) const override {
    static const SteadyClock clock;
    // What the wheel has for a model in Python is no scavenger-worker.
    const bool is_python = config.model.type == ModelType::kPython;
    return std::make_unique<SshProvider>(
        io, clock, ssh_settings(config.provider), host.program_folder,
        scavenger::version_line(is_python ? "scavenger-ps" : "scavenger-worker"));
  }
  awaitable<std::vector<std::string>> clean() const override {
    co_return remove_abandoned_ssh_folders();
  }
};

}  // namespace

const ProviderFactory& ssh_provider_factory() {
  static const SshFactory factory;
  return factory;
}

}  // namespace scavenger
