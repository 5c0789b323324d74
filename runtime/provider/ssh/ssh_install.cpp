#include "runtime/provider/ssh/ssh_install.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/base/text.h"
#include "runtime/provider/ssh/ssh_provider.h"

namespace scavenger {
namespace {

constexpr double kCopySeconds = 3600.0;
constexpr const char* kTriedProgram = "scavenger-ps";  // needs no LibTorch, and is in every build

// $1: the folder or the wheel; the rest: ssh and its words. tar reports a file that it cannot read.
constexpr const char* kSendFolder = "source=$1; shift; tar -C \"$source\" -czf - . | \"$@\"";
constexpr const char* kSendFile = "source=$1; shift; \"$@\" <\"$source\"";

}  // namespace

std::string ssh_install_script(const SshInstallation& installation,
                               const std::string& version_line) {
  std::string unpack = "tar -xzf - -C \"$new\"\n";
  if (installation.is_wheel()) {
    // As the wheel's own programs expect their package: beside them.
    unpack = fmt::format(
        "python={0}\n"
        "\"$python\" -c 'import torch' || {{ echo \"$python has no PyTorch here\" >&2; exit 4; }}\n"
        "cat >\"$new/scavenger.whl\"\n"
        "\"$python\" -m zipfile -e \"$new/scavenger.whl\" \"$new\"\n"
        "rm \"$new/scavenger.whl\"\n"
        "chmod 755 \"$new\"/scavenger/bin/*\n"
        "ln -s scavenger/bin \"$new/bin\"\n"
        "ln -s scavenger/lib \"$new/lib\"\n"
        "mkdir -p \"$new/share/scavenger\"\n"
        "ln -s ../.. \"$new/share/scavenger/python\"\n",
        shell_quoted(installation.python));
  }
  return fmt::format(
      "set -eu\n"
      "folder={0}\n"
      "new=$folder.new.$$\n"
      "trap 'rm -rf \"$new\"' EXIT\n"
      "mkdir -p \"$new\"\n"
      "{1}"
      "said=$(\"$new/bin/{2}\" --version | tail -n 1)\n"
      "[ \"$said\" = {3} ] || {{ echo \"it says $said\" >&2; exit 3; }}\n"
      "rm -rf \"$folder.old\"\n"
      "if [ -e \"$folder\" ]; then mv \"$folder\" \"$folder.old\"; fi\n"
      "mv \"$new\" \"$folder\"\n"
      "rm -rf \"$folder.old\"\n"
      "echo \"$said\"\n",
      shell_quoted(installation.folder), unpack, kTriedProgram, shell_quoted(version_line));
}

std::string problem_of(const SshInstallation& installation) {
  if (!installation.folder.starts_with('/') || installation.folder == "/")
    return "the folder on the hosts must be written from its root, such as /opt/scavenger";
  std::error_code error;
  if (installation.is_wheel())
    return std::filesystem::is_regular_file(installation.source, error)
               ? std::string()
               : "there is no file " + installation.source.string();
  if (std::filesystem::exists(installation.source / "CMakeCache.txt", error))
    return fmt::format("{} is where this build was compiled: name the folder of cmake --install",
                       installation.source.string());
  const auto program = installation.source / "bin" / kTriedProgram;
  return std::filesystem::exists(program, error)
             ? std::string()
             : fmt::format("there is no {}: name the folder of cmake --install, or a wheel",
                           program.string());
}

awaitable<std::string> install_over_ssh(SshInstallation installation, std::string destination,
                                        std::string version_line) {
  std::vector<std::string> words = {"sh",
                                    "-c",
                                    installation.is_wheel() ? kSendFile : kSendFolder,
                                    "install",
                                    installation.source.string(),
                                    "ssh"};
  const std::vector<std::string> ssh = ssh_words(installation.options, destination);
  words.insert(words.end(), ssh.begin(), ssh.end());
  words.push_back("sh -c " + shell_quoted(ssh_install_script(installation, version_line)));
  const CommandResult result = co_await run_command(std::move(words), std::string(), kCopySeconds);
  const bool is_there = result.succeeded() && result.last_line() == version_line;
  co_return is_there ? std::string() : result.failure();
}

}  // namespace scavenger
