#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/command_line/command_text.h"
#include "runtime/base/version.h"

namespace scavenger {
namespace {

// roff takes hyphens for breaks, a backslash for an escape, a leading dot for a request.
std::string escaped(const std::string& text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text)
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '\n')
      result += ' ';
    else
      result += c;
  return result;
}

std::string usage(const std::string& program, const DescribedCommand& command) {
  std::string line = ".B " + escaped(program);
  for (const std::string& word : command.path) line += " " + escaped(word);
  line += "\n.RI [ options ]";
  std::string positional;
  for (const DescribedOption& option : command.options)
    if (option.names.empty())
      positional += option.is_required ? "\n.I " + escaped(option.placeholder)
                                       : "\n.RI [ " + escaped(option.placeholder) + " ]";
  if (!command.subcommands.empty()) positional += "\n.I command";
  return line + positional + "\n";
}

std::string option_text(const DescribedOption& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", escaped(name));
  if (!option.placeholder.empty())
    names += fmt::format("{}\\fI{}\\fR", names.empty() ? "" : " ", escaped(option.placeholder));
  std::string description = option.description;
  if (!option.choices.empty())
    description += fmt::format(" (one of: {})", fmt::join(option.choices, ", "));
  if (!option.preset.empty()) description += fmt::format(" [{}]", option.preset);
  return fmt::format(".TP\n{}\n{}\n", names, escaped(description));
}

std::string options_text(const DescribedCommand& command) {
  std::string text;
  for (const DescribedOption& option : command.options) text += option_text(option);
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app) {
  const std::string& program = app.get_name();
  const auto commands = describe(app);
  const DescribedCommand& whole = commands.front();
  std::string summary = whole.description;
  if (summary.ends_with('.')) summary.pop_back();
  std::string page =
      fmt::format(".TH {} 1 \"\" \"scavenger {}\" \"Scavenger\"\n.SH NAME\n{} \\- {}\n",
                  escaped(program), version(), escaped(program), escaped(summary));
  page += ".SH SYNOPSIS\n" + usage(program, whole);
  page += ".SH OPTIONS\n" + options_text(whole);
  if (commands.size() > 1) page += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    page += fmt::format(".SS {}\n{}\n.PP\n",
                        escaped(fmt::format("{}", fmt::join(commands[i].path, " "))),
                        escaped(commands[i].description));
    page += usage(program, commands[i]) + options_text(commands[i]);
  }
  page += ".SH EXIT STATUS\n0: done. 1: it failed. 2: the input or the command line is wrong.\n";
  if (program == "scavenger-train") page += "130: interrupted; the job can be resumed.\n";
  page += ".SH SEE ALSO\n";
  for (const char* other : {"ctl", "export", "plan", "predict", "report", "train"})
    if (const std::string name = fmt::format("scavenger-{}", other); name != program)
      page += fmt::format(".BR {} (1)\n", escaped(name));
  return page;
}

}  // namespace scavenger
