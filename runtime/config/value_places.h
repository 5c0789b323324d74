// Where each value of a configuration was written: a line of a file, or an override of the command
// line.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/config/violation.h"

namespace scavenger {

class ValuePlaces final {
 public:
  // `document` names the text in errors: "configs/mlp.json".
  explicit ValuePlaces(std::string document) : document_(std::move(document)) {}

  void set_line(const JsonPointer& value, std::size_t line);
  // `argument` is the override as it was given, "--set a.b=c"; it replaced all that was below
  // `value`.
  void set_override(const JsonPointer& value, const std::string& argument);

  bool is_override(const JsonPointer& value) const;
  // "configs/mlp.json:12: optimizer.momentum" or "--set optimizer.momentum=2". A value that was not
  // written (a default, a missing key) has the line of what it would stand in.
  std::string describe(const JsonPointer& value) const;
  // Values in the order in which a reader meets them: the file's by line, then the overrides.
  std::size_t order(const JsonPointer& value) const;

  ConfigError error(const Violation& violation) const;

 private:
  struct Origin {
    std::size_t order = 0;  // the line, or above all lines
    std::string override_argument;
    JsonPointer value;
  };
  const Origin& origin_of(JsonPointer value) const;

  std::string document_;
  std::map<std::string, Origin> origins_;  // by JSON pointer
  std::size_t overrides_ = 0;
};

// "/data/train/files/0" as people write it: "data.train.files.0".
std::string dotted(const JsonPointer& pointer);

}  // namespace scavenger
