// Shell completion and a man page out of a program's own command line, so that they cannot differ
// from it.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace scavenger {

// "NAME --generate-completion bash", "zsh" or "fish", and "NAME --generate-man", which --help does
// not tell of: the build calls them. Nothing for all other command lines. `words` are those after
// the program's name. Throws CLI::ValidationError for another shell.
std::optional<std::string> generated_text(const CLI::App& app,
                                          const std::vector<std::string>& words);

std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);
std::string man_page(const CLI::App& app);

// What the four are made of: a command line as it is declared.
struct DescribedOption {
  std::vector<std::string> names;  // "--set", "-h"; none: it is positional
  std::string placeholder;         // of its value, "CONFIG" or "TEXT"; empty: it takes none
  std::vector<std::string> choices;
  std::string description;
  std::string preset;  // if it is not given
  bool is_required = false;
};
struct DescribedCommand {
  std::vector<std::string> path;  // {"gcp", "list"}; empty: the program
  std::string description;
  std::vector<DescribedOption> options;
  std::vector<std::string> subcommands;
};
// The program and all its subcommands, each before its own.
std::vector<DescribedCommand> describe(const CLI::App& app);

}  // namespace scavenger
