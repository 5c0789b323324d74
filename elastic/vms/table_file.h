// A table with a header, as users write them, spreadsheets export them, and other projects publish
// them: a byte order mark, CRLF, blanks around cells, and empty lines mean nothing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger::elastic {

// The cells of one line, without blanks around them.
std::vector<std::string> cells_of_line(std::string_view line, char separator = ',');

class TableFile final {
 public:
  // `remedy`: of all errors. Throws InputError if the file cannot be read, or if its header has a
  // column twice.
  TableFile(std::filesystem::path file, std::string remedy, char separator = ',');

  const std::vector<std::string>& columns() const { return columns_; }
  // Refuses the table if it lacks the column.
  void require_column(const std::string& column) const;

  // Goes on to the next row; false at the end. Refuses a row with more cells than columns.
  bool next();

  // Of the present row; empty if its table lacks the column, or the row the cell.
  std::string text(const std::string& column) const;
  // Refuses an empty cell.
  std::string required_text(const std::string& column) const;
  // Refuses a row that ends before the cell, which may be empty.
  std::string present_text(const std::string& column) const;
  // Nothing if the cell is empty. Refuses what is no positive number, and 0 unless `or_zero`.
  std::optional<double> number(const std::string& column, bool or_zero = false) const;
  double required_number(const std::string& column) const;

  // Throws InputError with the present line, or the first one.
  [[noreturn]] void refuse(std::string what) const;
  [[noreturn]] void refuse_table(std::string what) const;

 private:
  bool read_line(std::vector<std::string>& cells);
  [[noreturn]] void refuse_at(std::size_t line, std::string what) const;

  std::filesystem::path file_;
  std::string remedy_;
  char separator_;
  std::string text_;
  std::size_t begin_ = 0;  // of the next line
  std::size_t line_ = 0;   // number of the present one
  std::vector<std::string> columns_;
  std::map<std::string, std::string> cells_;  // by column
};

}  // namespace scavenger::elastic
