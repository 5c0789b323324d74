// Records where each value of a configuration was written: on a line of a file, or in an override
// of the command line.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/schema/violation.h"

namespace scavenger {

class ValuePlaces final {
 public:
  // `document` names the text in errors: "configs/mlp.json".
  explicit ValuePlaces(std::string document) : document_(std::move(document)) {}

  void set_line(const JsonPointer& value, std::size_t line);
  // `argument` is the override as it was given, "--set a.b=c"; it replaced everything below
  // `value`.
  void set_override(const JsonPointer& value, const std::string& argument);

  bool is_override(const JsonPointer& value) const;
  // Returns "configs/mlp.json:12: optimizer.momentum" or "--set optimizer.momentum=2". A value that
  // was not written (a default, a missing key) has the line of the object that would contain it.
  std::string describe(const JsonPointer& value) const;
  // Returns a number by which values can be sorted: those of the file by line, then those of
  // overrides.
  std::size_t order(const JsonPointer& value) const;

  ConfigError error(const Violation& violation) const;

 private:
  struct Origin {
    std::size_t order = 0;  // the line; larger than all lines for an override
    std::string override_argument;
    JsonPointer value;
  };
  const Origin& origin_of(JsonPointer value) const;

  std::string document_;
  std::map<std::string, Origin> origins_;  // by JSON pointer
  std::size_t overrides_ = 0;
};

// Returns "data.train.files.0" for "/data/train/files/0".
std::string dotted(const JsonPointer& pointer);

}  // namespace scavenger
