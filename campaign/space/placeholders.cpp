#include "campaign/space/placeholders.h"

#include <cctype>
#include <functional>

namespace scavenger::campaign {
namespace {

// Passes the word's text to `take_text` and its names to `take_name`.
void scan(std::string_view word, const std::function<void(std::string_view)>& take_text,
          const std::function<void(const std::string&)>& take_name) {
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    const bool is_double = i + 1 < word.size() && word[i + 1] == c;
    if ((c == '{' || c == '}') && is_double) {
      take_text(word.substr(i++, 1));
      continue;
    }
    const std::size_t end = c == '{' ? word.find('}', i) : std::string_view::npos;
    if (end != std::string_view::npos && is_parameter_name(word.substr(i + 1, end - i - 1))) {
      take_name(std::string(word.substr(i + 1, end - i - 1)));
      i = end;
      continue;
    }
    take_text(word.substr(i, 1));
  }
}

}  // namespace

bool is_parameter_name(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  return true;
}

bool is_reserved_name(std::string_view name) {
  return name == "from" || name == "until" || name == "steps" || name == "seed";
}

std::vector<std::string> placeholders_in(std::string_view word) {
  std::vector<std::string> names;
  scan(word, [](std::string_view) {}, [&](const std::string& name) { names.push_back(name); });
  return names;
}

std::string fill_word(std::string_view word, const Substitutions& values) {
  std::string result;
  scan(
      word, [&](std::string_view text) { result += text; },
      [&](const std::string& name) { result += values.at(name); });
  return result;
}

std::string fill_template(std::string_view text, const Substitutions& values) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t begin = text.find("{{"); begin != std::string_view::npos;
       begin = text.find("{{", begin + 1)) {
    const std::size_t end = text.find("}}", begin);
    if (end == std::string_view::npos) break;
    const auto value = values.find(std::string(text.substr(begin + 2, end - begin - 2)));
    if (value == values.end()) continue;
    result += text.substr(done, begin - done);
    result += value->second;
    done = end + 2;
    begin = end;
  }
  return result + std::string(text.substr(done));
}

}  // namespace scavenger::campaign
