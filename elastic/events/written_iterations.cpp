#include "elastic/events/written_iterations.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <limits>
#include <vector>

#include "elastic/events/event_fields.h"

namespace scavenger::elastic {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Goes through a line as it is walked over by visit_fields(), and stops at what it does not expect.
class WrittenReader final {
 public:
  explicit WrittenReader(std::string_view line) : rest_(line) {}

  bool has_stopped() const { return has_stopped_; }
  bool is_at_end() const { return !has_stopped_ && rest_.empty(); }

  void skip(std::string_view expected) {
    if (rest_.starts_with(expected))
      rest_.remove_prefix(expected.size());
    else
      has_stopped_ = true;
  }

  template <typename T>
  void operator()(std::string_view key, T& value) {
    if (has_stopped_) return;
    if (!is_first_) skip(",");
    is_first_ = false;
    skip("\"");
    skip(key);
    skip("\":");
    read(value);
  }

 private:
  void read(double& value) {
    if (rest_.starts_with('n')) {
      value = std::numeric_limits<double>::quiet_NaN();
      return skip("null");
    }
    read_number(value);
  }

  template <std::unsigned_integral T>
  void read(T& value) {
    if (!rest_.starts_with('-')) return read_number(value);
    has_stopped_ = true;
  }

  // from_chars() takes some that JSON does not: "01", "1.", "1.e5", ".5", "inf".
  template <typename T>
  void read_number(T& value) {
    const char* const begin = rest_.data();
    const char* const end = begin + rest_.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    const char* const first = begin < end && *begin == '-' ? begin + 1 : begin;
    const char* const point = std::find(begin, stop, '.');
    const bool is_json = error == std::errc() && is_digit(*first) &&
                         (*first != '0' || first + 1 == stop || !is_digit(first[1])) &&
                         is_digit(stop[-1]) && (point == stop || is_digit(point[1]));
    if (!is_json) {
      has_stopped_ = true;
      return;
    }
    rest_.remove_prefix(static_cast<std::size_t>(stop - begin));
  }

  template <typename T>
  void read(std::vector<T>& list) {
    skip("[");
    while (!has_stopped_ && !rest_.starts_with(']')) {
      if (!list.empty()) skip(",");
      read(list.emplace_back());
    }
    skip("]");
  }

  template <typename Fact>
    requires std::is_class_v<Fact>
  void read(Fact& fact) {
    skip("{");
    is_first_ = true;
    visit_fields(*this, fact);
    is_first_ = false;
    skip("}");
  }

  std::string_view rest_;
  bool is_first_ = true;
  bool has_stopped_ = false;
};

}  // namespace

std::optional<LoggedEvent> read_written_iterations(std::string_view line) {
  LoggedEvent logged{.time = 0.0, .event = fact::Iterations{}};
  auto& iterations = std::get<fact::Iterations>(logged.event);
  WrittenReader reader(line);
  reader.skip("{");
  reader("time", logged.time);
  reader.skip(",\"event\":\"iterations\"");
  if (reader.has_stopped()) return std::nullopt;
  visit_fields(reader, iterations);
  reader.skip("}");
  if (!reader.is_at_end()) return std::nullopt;
  return logged;
}

}  // namespace scavenger::elastic
