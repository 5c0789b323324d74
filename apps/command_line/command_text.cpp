#include "apps/command_line/command_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace scavenger {
namespace {

// Of "TEXT:{test,train}": what CLI::IsMember leaves.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos) return choices;
  for (std::size_t place = begin + 1; place < end;) {
    const std::size_t comma = std::min(type.find(',', place), end);
    choices.push_back(type.substr(place, comma - place));
    place = comma + 1;
  }
  return choices;
}

DescribedOption describe(const CLI::Option& option) {
  DescribedOption described;
  for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
  const std::string type = option.get_type_name();
  described.choices = choices_of(type);
  if (option.get_items_expected_max() > 0) {
    described.placeholder = type.substr(0, type.find_first_of(":{"));
    if (described.names.empty()) described.placeholder = option.get_name(true);
    if (described.placeholder.empty()) described.placeholder = "VALUE";
  }
  described.description = option.get_description();
  described.preset = option.get_default_str();
  described.is_required = option.get_required();
  return described;
}

void describe(const CLI::App& app, const std::vector<std::string>& path,
              std::vector<DescribedCommand>& commands) {
  DescribedCommand command;
  command.path = path;
  command.description = app.get_description();
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) command.options.push_back(describe(*option));
  const auto all = [](const CLI::App* sub) { return !sub->get_name().empty(); };
  const auto subcommands = app.get_subcommands(all);
  for (const CLI::App* sub : subcommands) command.subcommands.push_back(sub->get_name());
  commands.push_back(std::move(command));
  for (const CLI::App* sub : subcommands) {
    std::vector<std::string> below = path;
    below.push_back(sub->get_name());
    describe(*sub, below, commands);
  }
}

}  // namespace

std::vector<DescribedCommand> describe(const CLI::App& app) {
  std::vector<DescribedCommand> commands;
  describe(app, {}, commands);
  return commands;
}

std::optional<std::string> generated_text(const CLI::App& app,
                                          const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "--generate-man") return man_page(app);
  if (words.size() != 2 || words[0] != "--generate-completion") return std::nullopt;
  if (words[1] == "bash") return bash_completion(app);
  if (words[1] == "zsh") return zsh_completion(app);
  if (words[1] == "fish") return fish_completion(app);
  throw CLI::ValidationError("--generate-completion", "knows bash, zsh and fish");
}

}  // namespace scavenger
