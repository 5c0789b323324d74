#include "kubernetes/api/yaml_text.h"

#include <fmt/format.h>

#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger::kubernetes {
namespace {

using json = nlohmann::json;

constexpr int kDeepest = 32;

struct Line {
  std::size_t indent = 0;
  std::string_view text;  // without indentation, comment and blanks at its end
  std::string_view raw;
  int number = 0;
  bool is_empty() const { return text.empty(); }
};

std::string_view without_end_blanks(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// A comment begins with a "#" after a blank, outside of quotes.
std::string_view without_comment(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins_word = i == 0 || text[i - 1] == ' ';
    if (quote == '"' && c == '\\')
      ++i;
    else if (quote != 0)
      quote = c == quote ? static_cast<char>(0) : quote;
    else if ((c == '"' || c == '\'') && begins_word)
      quote = c;
    else if (c == '#' && begins_word)
      return text.substr(0, i);
  }
  return text;
}

class Reader final {
 public:
  Reader(std::string_view text, std::string where) : where_(std::move(where)) {
    int number = 0;
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      Line line;
      line.raw = without_end_blanks(text.substr(0, end));
      line.number = ++number;
      line.indent = std::min(line.raw.find_first_not_of(' '), line.raw.size());
      line.text = without_end_blanks(without_comment(line.raw.substr(line.indent)));
      text.remove_prefix(std::min(end + 1, text.size()));
      const bool is_mark = line.text == "---" && lines_.empty();
      if (!is_mark) lines_.push_back(line);
    }
  }

  json document() {
    skip_empty();
    if (at_end()) return json::object();
    json result = block(here().indent, 0);
    skip_empty();
    if (!at_end()) fail("this line fits nowhere");
    return result;
  }

 private:
  bool at_end() const { return next_ >= lines_.size(); }
  const Line& here() const { return lines_[next_]; }
  void skip_empty() {
    while (!at_end() && here().is_empty()) ++next_;
  }
  [[noreturn]] void fail(const std::string& what) const {
    const int number = at_end() ? static_cast<int>(lines_.size()) : here().number;
    throw InputError({.what = what,
                      .where = fmt::format("{}:{}", where_, number),
                      .remedy = "write it as kubectl does: kubectl config view --raw --flatten"});
  }

  static bool is_item(std::string_view text) { return text == "-" || text.starts_with("- "); }

  json block(std::size_t indent, int depth) {
    if (depth > kDeepest) fail("this nests too deep");
    return is_item(here().text) ? sequence(indent, depth) : mapping(indent, depth);
  }

  json sequence(std::size_t indent, int depth) {
    json items = json::array();
    for (skip_empty(); !at_end() && here().indent == indent && is_item(here().text); skip_empty()) {
      Line& line = lines_[next_];
      const auto begin = line.text.find_first_not_of(' ', 1);
      if (begin == std::string_view::npos) {
        ++next_;
        items.push_back(nested(indent, depth));
        continue;
      }
      const std::string_view rest = line.text.substr(begin);
      if (is_item(rest) || key_end(rest)) {  // what follows is a block of its own, further right
        line.text = rest;
        line.indent += begin;
        items.push_back(block(line.indent, depth + 1));
      } else {
        items.push_back(scalar(rest, indent));
      }
    }
    return items;
  }

  json mapping(std::size_t indent, int depth) {
    json object = json::object();
    for (skip_empty(); !at_end() && here().indent == indent; skip_empty()) {
      const std::string_view text = here().text;
      const auto end = key_end(text);
      if (!end) fail("this line is no \"key: value\"");
      const json key = scalar_of(text.substr(0, *end));
      const auto begin = text.find_first_not_of(' ', *end + 1);
      if (begin == std::string_view::npos) {
        ++next_;
        object[key_text(key)] = nested_or_sequence(indent, depth);
      } else {
        object[key_text(key)] = scalar(text.substr(begin), indent);
      }
    }
    return object;
  }

  static std::string key_text(const json& key) {
    return key.is_string() ? key.get<std::string>() : json_text(key);
  }

  // Where the ":" is that ends a key; nothing if there is none.
  static std::optional<std::size_t> key_end(std::string_view text) {
    std::size_t i = 0;
    if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
      i = text.find(text[0], 1);
      if (i == std::string_view::npos) return std::nullopt;
      ++i;
      return i < text.size() && text[i] == ':' ? std::optional(i) : std::nullopt;
    }
    for (; i < text.size(); ++i)
      if (text[i] == ':' && (i + 1 == text.size() || text[i + 1] == ' ')) return i;
    return std::nullopt;
  }

  json nested(std::size_t indent, int depth) {
    skip_empty();
    if (at_end() || here().indent <= indent) return nullptr;
    return block(here().indent, depth + 1);
  }
  // The items of a key's sequence may stand as far left as the key.
  json nested_or_sequence(std::size_t indent, int depth) {
    skip_empty();
    if (!at_end() && here().indent == indent && is_item(here().text))
      return sequence(indent, depth + 1);
    return nested(indent, depth);
  }

  // The value in a line, and what belongs to it on further ones.
  json scalar(std::string_view text, std::size_t indent) {
    if (text[0] == '|' || text[0] == '>') return literal(text, indent);
    json value = scalar_of(text);
    ++next_;
    return value;
  }

  json literal(std::string_view head, std::size_t indent) {
    const char joint = head[0] == '|' ? '\n' : ' ';
    const bool keeps_end = head.find('-') == std::string_view::npos;
    ++next_;
    std::string text;
    std::optional<std::size_t> inner;
    for (; !at_end(); ++next_) {
      const Line& line = here();
      const bool is_blank = line.raw.find_first_not_of(' ') == std::string_view::npos;
      const std::size_t begin = line.raw.find_first_not_of(' ');
      if (!is_blank && begin <= indent) break;
      if (!is_blank && !inner) inner = begin;
      if (is_blank && !inner) continue;
      if (!text.empty()) text += joint;
      if (!is_blank) text += line.raw.substr(std::min(*inner, begin));
    }
    while (text.ends_with(joint)) text.pop_back();
    if (keeps_end) text += '\n';
    return text;
  }

  json scalar_of(std::string_view text) const {
    if (text == "{}") return json::object();
    if (text == "[]") return json::array();
    if (text == "~") return nullptr;
    if (text.front() == '"') {
      const auto parsed = try_parse_json(text);
      if (!parsed || !parsed->is_string()) fail("this text in quotes does not end here");
      return *parsed;
    }
    if (text.front() == '\'') return single_quoted(text);
    if (std::string_view("{[&*!%@`").find(text.front()) != std::string_view::npos)
      fail(fmt::format("a value that begins with \"{}\" is not read here", text.front()));
    if (const auto parsed = try_parse_json(text); parsed && !parsed->is_structured())
      return *parsed;
    return std::string(text);
  }

  json single_quoted(std::string_view text) const {
    std::string value;
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (text[i] != '\'') {
        value += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '\'') {
        value += '\'';
        ++i;
      } else if (i + 1 == text.size()) {
        return value;
      } else {
        break;
      }
    }
    fail("this text in quotes does not end here");
  }

  std::vector<Line> lines_;
  std::size_t next_ = 0;
  std::string where_;
};

}  // namespace

json parse_yaml(std::string_view text, const std::string& where) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && text[begin] == '{')
    if (auto document = try_parse_json(text); document && document->is_object())
      return std::move(*document);
  return Reader(text, where).document();
}

}  // namespace scavenger::kubernetes
