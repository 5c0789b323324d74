// The same plan in each shell: walk over the words before the cursor to find the subcommand, then
// offer the values of the option in front of the cursor, the options, or the subcommands; and the
// shell's own files for all else.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/command_line/command_text.h"

namespace scavenger {
namespace {

std::string function_name(const CLI::App& app) {
  std::string name = "_" + app.get_name();
  std::ranges::replace(name, '-', '_');
  return name;
}

// Within single quotes, for bash and zsh.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text)
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  return result + "'";
}

std::string path_of(const DescribedCommand& command) {
  return fmt::format("{}", fmt::join(command.path, " "));
}

// "path:word) ..." for each step from a command to one of its subcommands.
std::string steps(const std::vector<DescribedCommand>& commands) {
  std::string cases;
  for (const DescribedCommand& command : commands)
    if (!command.path.empty()) {
      const std::vector<std::string> above(command.path.begin(), command.path.end() - 1);
      cases += fmt::format("      {}) at={} ;;\n",
                           quoted(fmt::format("{}:{}", fmt::join(above, " "), command.path.back())),
                           quoted(path_of(command)));
    }
  return cases;
}

// "path:--option|path:-o" of an option.
std::string patterns_of(const DescribedCommand& command, const DescribedOption& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names)
    patterns.push_back(quoted(path_of(command) + ":" + name));
  return fmt::format("{}", fmt::join(patterns, "|"));
}

std::vector<std::string> names_of_options(const DescribedCommand& command) {
  std::vector<std::string> names;
  for (const DescribedOption& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::string fish_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  const auto commands = describe(app);
  const std::string& name = app.get_name();
  const std::string function = function_name(app);
  std::string values, offers;
  for (const DescribedCommand& command : commands) {
    for (const DescribedOption& option : command.options)
      if (!option.names.empty() && !option.placeholder.empty())
        values += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$current\")); return ;;\n",
                              patterns_of(command, option),
                              quoted(fmt::format("{}", fmt::join(option.choices, " "))));
    offers += fmt::format("    {}) options={}; commands={} ;;\n", quoted(path_of(command)),
                          quoted(fmt::format("{}", fmt::join(names_of_options(command), " "))),
                          quoted(fmt::format("{}", fmt::join(command.subcommands, " "))));
  }
  return fmt::format(
      "# bash completion for {0}, made by {0} --generate-completion bash\n"
      "{1}() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  local at='' word options='' commands=''\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"$at:$word\" in\n"
      "{2}"
      "      *) ;;\n"
      "    esac\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case \"$at:$previous\" in\n"
      "{3}"
      "    *) ;;\n"
      "  esac\n"
      "  case \"$at\" in\n"
      "{4}"
      "  esac\n"
      "  if [[ $current == -* ]]; then commands=\"$options\"; fi\n"
      "  COMPREPLY=($(compgen -W \"$commands\" -- \"$current\"))\n"
      "}}\n"
      "complete -o bashdefault -o default -F {1} {0}\n",
      name, function, steps(commands), values, offers);
}

std::string zsh_completion(const CLI::App& app) {
  const auto commands = describe(app);
  std::string values, offers;
  for (const DescribedCommand& command : commands) {
    std::string options, subcommands;
    for (const DescribedOption& option : command.options) {
      for (const std::string& name : option.names)
        options += " " + quoted(name + ":" + option.description);
      if (option.names.empty() || option.placeholder.empty()) continue;
      values += fmt::format("    {}) {}; return ;;\n", patterns_of(command, option),
                            option.choices.empty()
                                ? "_files"
                                : fmt::format("compadd -- {}", fmt::join(option.choices, " ")));
    }
    for (const DescribedCommand& below : commands)
      if (below.path.size() == command.path.size() + 1 &&
          std::equal(command.path.begin(), command.path.end(), below.path.begin()))
        subcommands += " " + quoted(below.path.back() + ":" + below.description);
    offers += fmt::format("    {}) options=({} ); commands=({} ) ;;\n", quoted(path_of(command)),
                          options, subcommands);
  }
  return fmt::format(
      "#compdef {0}\n"
      "# zsh completion for {0}, made by {0} --generate-completion zsh\n"
      "{1}() {{\n"
      "  local at='' word\n"
      "  local -a options commands\n"
      "  for word in \"${{(@)words[2,CURRENT-1]}}\"; do\n"
      "    case \"$at:$word\" in\n"
      "{2}"
      "      *) ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$at:${{words[CURRENT-1]}}\" in\n"
      "{3}"
      "    *) ;;\n"
      "  esac\n"
      "  case \"$at\" in\n"
      "{4}"
      "  esac\n"
      "  if [[ ${{words[CURRENT]}} == -* ]]; then\n"
      "    _describe option options\n"
      "  else\n"
      "    (( $#commands )) && _describe command commands\n"
      "    _files\n"
      "  fi\n"
      "}}\n"
      "{1} \"$@\"\n",
      app.get_name(), function_name(app), steps(commands), values, offers);
}

std::string fish_completion(const CLI::App& app) {
  const auto commands = describe(app);
  std::string lines = fmt::format(
      "# fish completion for {0}, made by {0} --generate-completion fish\n", app.get_name());
  for (const DescribedCommand& command : commands) {
    std::string condition;
    for (const std::string& word : command.path)
      condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
    if (!command.subcommands.empty())
      condition +=
          fmt::format("{}not __fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ",
                      fmt::join(command.subcommands, " "));
    std::string start = "complete -c " + app.get_name();
    if (!condition.empty()) start += " -n " + fish_quoted(condition);
    for (const DescribedCommand& below : commands)
      if (below.path.size() == command.path.size() + 1 &&
          std::equal(command.path.begin(), command.path.end(), below.path.begin()))
        lines += fmt::format("{} -a {} -d {}\n", start, below.path.back(),
                             fish_quoted(below.description));
    for (const DescribedOption& option : command.options) {
      if (option.names.empty()) continue;
      std::string line = start;
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.choices.empty())
        line += " -xa " + fish_quoted(fmt::format("{}", fmt::join(option.choices, " ")));
      else if (!option.placeholder.empty())
        line += " -r";
      lines += line + " -d " + fish_quoted(option.description) + "\n";
    }
  }
  return lines;
}

}  // namespace scavenger
