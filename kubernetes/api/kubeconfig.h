// A kubeconfig file: which API server there is, and who we are to it. Pure, but for the files that
// it names.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace scavenger::kubernetes {

// A program that says who we are (client.authentication.k8s.io).
struct ExecPlugin {
  std::string api_version;
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;
  bool wants_cluster = false;  // to be told the server

  bool is_there() const { return !words.empty(); }
};

struct Kubeconfig {
  std::string context;
  std::string server;
  std::string server_name;     // in its certificate; empty: the host of `server`
  std::string roots;           // PEM; empty: the system's
  std::string namespace_name;  // of the context; empty: none

  std::string token;
  std::filesystem::path token_file;  // read again while it is used
  std::string certificate;           // PEM
  std::string key;                   // PEM
  std::string user, password;        // of basic authentication
  ExecPlugin plugin;
};

// `context`: empty: the current one. Throws InputError where the file does not say enough, or asks
// for what we do not do: a server whose certificate is not checked, an auth-provider.
Kubeconfig parse_kubeconfig(const std::string& text, const std::filesystem::path& file,
                            const std::string& context);

// What a plug-in prints: an ExecCredential.
struct ExecCredential {
  std::string token;
  std::string certificate;
  std::string key;
  double expires_seconds = 0.0;  // of Unix time; 0: it does not say
};
// Throws InputError that names `program`.
ExecCredential parse_exec_credential(const std::string& printed, const std::string& program);

// Seconds of Unix time of "2026-11-23T14:30:00Z"; 0 for anything else.
double parse_rfc3339(const std::string& text);

}  // namespace scavenger::kubernetes
