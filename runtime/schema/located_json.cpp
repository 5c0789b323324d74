#include "runtime/schema/located_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace scavenger {
namespace {

// Far more levels than a configuration has. The place of each value contains the names of all
// levels above it, so depth costs memory.
constexpr std::size_t kDepthLimit = 32;
constexpr std::size_t kKeyLimit = 1000;

// Feeds the parser and remembers the line of the last visible character that the parser has read.
// (White space does not count, since the parser reads one character beyond a number.)
class LineCounter final {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineCounter(const char* position, std::size_t* line) : position_(position), line_(line) {}

  reference operator*() const { return *position_; }
  bool operator==(const LineCounter& other) const { return position_ == other.position_; }
  LineCounter& operator++() {
    if (*position_ == '\n') {
      ++newlines_;
    } else if (*position_ != ' ' && *position_ != '\t' && *position_ != '\r') {
      *line_ += std::exchange(newlines_, 0);
    }
    ++position_;
    return *this;
  }
  LineCounter operator++(int) {
    LineCounter before = *this;
    ++*this;
    return before;
  }

 private:
  const char* position_;
  std::size_t* line_;
  std::size_t newlines_ = 0;
};

// Builds the document from the parser's events (nlohmann's SAX interface).
class LocatedBuilder final : public Json::json_sax_t {
 public:
  LocatedBuilder(const std::string& text, const std::string& name, const std::size_t& line)
      : text_(text), name_(name), line_(line), places_(name) {}

  LocatedJson take() && { return {std::move(document_), std::move(places_)}; }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override;
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override;

 private:
  // The innermost open list or object.
  struct Open {
    JsonPointer place;
    std::string key;  // of the next value of the object
  };
  JsonPointer next_place() const;
  bool add(Json value);
  bool open(Json container);
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& text_;
  const std::string& name_;
  const std::size_t& line_;
  Json document_;
  ValuePlaces places_;
  std::vector<Open> open_;
};

JsonPointer LocatedBuilder::next_place() const {
  if (open_.empty()) return JsonPointer();
  const Json& container = document_.at(open_.back().place);
  return container.is_array() ? open_.back().place / container.size()
                              : open_.back().place / open_.back().key;
}

bool LocatedBuilder::add(Json value) {
  const JsonPointer place = next_place();
  if (open_.empty() || document_.at(open_.back().place).is_array()) places_.set_line(place, line_);
  document_[place] = std::move(value);
  return true;
}

bool LocatedBuilder::open(Json container) {
  const JsonPointer place = next_place();
  if (open_.size() >= kDepthLimit)
    throw ConfigError({.what = fmt::format("this is nested more than {} deep", kDepthLimit),
                       .where = fmt::format("{}:{}", name_, line_),
                       .remedy = "a configuration has a few levels only"});
  add(std::move(container));
  open_.push_back({.place = place, .key = {}});
  return true;
}

bool LocatedBuilder::key(string_t& value) {
  // Each key is compared with all previous ones.
  if (document_.at(open_.back().place).size() >= kKeyLimit)
    throw ConfigError({.what = fmt::format("this object has more than {} keys", kKeyLimit),
                       .where = fmt::format("{}:{}", name_, line_),
                       .remedy = "a configuration has a few dozen: is this the right file?"});
  open_.back().key = value;
  const JsonPointer place = next_place();
  if (document_.at(open_.back().place).contains(value)) {
    const std::string first = places_.describe(place);
    places_.set_line(place, line_);
    throw ConfigError({.what = fmt::format("the key \"{}\" is given twice", value),
                       .where = places_.describe(place),
                       .remedy = fmt::format("keep one; the other is at {}", first)});
  }
  places_.set_line(place, line_);
  return true;
}

bool LocatedBuilder::parse_error(std::size_t position, const std::string&,
                                 const nlohmann::detail::exception& error) {
  const std::string_view before =
      std::string_view(text_).substr(0, position == 0 ? 0 : position - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  std::string reason = error.what();
  // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while parsing
  // value - unexpected '}'; expected ...": keep what comes after the place.
  for (const std::string_view lead : {"] ", ": ", " - "})
    if (const std::size_t end = reason.find(lead); end != std::string::npos)
      reason = reason.substr(end + lead.size());
  throw ConfigError({.what = "this is not JSON: " + reason,
                     .where = fmt::format("{}:{}:{}", name_, line, before.size() - line_start + 1),
                     .remedy = "look for a comma, quote or bracket too many or too few before it"});
}

}  // namespace

LocatedJson parse_located_json(const std::string& text, const std::string& name) {
  std::size_t line = 1;
  LocatedBuilder builder(text, name, line);
  const LineCounter first(text.data(), &line);
  const LineCounter last(text.data() + text.size(), &line);
  Json::sax_parse(first, last, &builder);
  return std::move(builder).take();
}

}  // namespace scavenger
