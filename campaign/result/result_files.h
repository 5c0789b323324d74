// The files that a simulation leaves as its result, read as numbers. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "campaign/config/campaign_config.h"

namespace scavenger::campaign {

struct ResultFile {
  std::string name;
  std::string content;

  bool operator==(const ResultFile&) const = default;
};

// A CSV table of numbers with a header. `columns[i]` belongs to `names[i]`; all have one length.
struct NumberTable {
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;

  // Null if there is no such column.
  const std::vector<double>* find(const std::string& name) const;
};

// `name` names the file in errors. Throws DataError if the text is no such table.
NumberTable parse_number_table(const std::string& text, const std::string& name);
std::string text_of(const NumberTable& table);

// The numbers of a JSON object by key; those of an object in it are "outer.inner". Null and text
// are no numbers. Throws DataError if the text is no JSON object.
std::map<std::string, double> parse_numbers(const std::string& text, const std::string& name);

bool is_json_file(const std::string& name);   // by its ending
bool is_table_file(const std::string& name);  // ".csv"

// Null if there is none of this name.
const ResultFile* find_file(const std::vector<ResultFile>& files, const std::string& name);

// What reports draw. All vectors have one length; `errors` is empty or as long as `y`.
struct Profile {
  std::vector<double> x;
  std::vector<std::vector<double>> y;
  std::vector<std::vector<double>> errors;
};

// Throws DataError if the file or a column is missing.
Profile read_profile(const std::vector<ResultFile>& files, const ProfileColumns& columns);

// The step that a stopped simulation has reached. Throws DataError if it is not there.
std::uint64_t read_reached_step(const std::vector<ResultFile>& files, const ReachedStep& reached);

}  // namespace scavenger::campaign
