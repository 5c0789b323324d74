// Copies Scavenger to hosts that ssh reaches: an installed build, or the Python wheel.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/net/asio.h"

namespace scavenger {

struct SshInstallation {
  std::filesystem::path source;      // the folder of an installed build, or a .whl file
  std::string folder;                // on the hosts, absolute; what it held before is replaced
  std::string python = "python3";    // on the hosts, for a wheel; it must have PyTorch
  std::vector<std::string> options;  // of ssh

  bool is_wheel() const { return source.extension() == ".whl"; }
};

// Returns the script for sh on a host, which finds the archive on its standard input. It unpacks
// beside the folder, runs a program of it, and only then puts it in its place: whenever it is
// interrupted, the folder holds the old build or the new one. Its last line is the version.
// `version_line`: what that program must say, such as "scavenger-ps 0.1.0 (1234567)". Pure.
std::string ssh_install_script(const SshInstallation& installation,
                               const std::string& version_line);

// Returns what is wrong with it; empty if it can be copied. Looks at the local disk.
std::string problem_of(const SshInstallation& installation);

// Copies it to one host. Returns what went wrong; empty: it is there. Throws SystemError if ssh
// cannot be started.
awaitable<std::string> install_over_ssh(SshInstallation installation, std::string destination,
                                        std::string version_line);

}  // namespace scavenger
