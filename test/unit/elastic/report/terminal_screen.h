// A terminal of unlimited height, as far as the progress display uses one: what would be on the
// screen after a stream of output. Text that is too wide wraps, as on a real one.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger::elastic {

class TerminalScreen final {
 public:
  explicit TerminalScreen(std::size_t columns) : columns_(columns) {}

  void write(std::string_view text) {
    while (!text.empty()) {
      if (text.starts_with("\x1b[A")) {
        if (row_ > 0) --row_;
        text.remove_prefix(3);
      } else if (text.starts_with("\x1b[2K")) {
        lines_[row_].clear();
        text.remove_prefix(4);
      } else {
        put(text.front());
        text.remove_prefix(1);
      }
    }
  }

  // Without empty lines at the end.
  std::vector<std::string> lines() const {
    std::vector<std::string> lines = lines_;
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
  }

 private:
  void put(char c) {
    if (c == '\x1b') throw std::runtime_error("an escape sequence that no one expects");
    if (c == '\r') {
      column_ = 0;
      return;
    }
    if (c == '\n' || column_ == columns_) {
      ++row_;
      column_ = 0;
      if (lines_.size() <= row_) lines_.resize(row_ + 1);
      if (c == '\n') return;
    }
    std::string& line = lines_[row_];
    if (line.size() <= column_) line.resize(column_ + 1, ' ');
    line[column_++] = c;
  }

  std::size_t columns_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  std::vector<std::string> lines_ = {""};
};

}  // namespace scavenger::elastic
