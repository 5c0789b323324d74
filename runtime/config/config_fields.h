// Reads and writes the configuration by the lists of fields beside its parts
// (runtime/base/fields.h): data_config_fields.h and its like. The schema has checked and completed
// what is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/fields.h"
#include "runtime/base/json_text.h"
#include "runtime/schema/json.h"
#include "runtime/vocabulary/word_json.h"

namespace scavenger {

template <typename Fields, typename T>
concept HasFields = requires(Fields& fields, T& part) { visit_fields(fields, part); };

inline constexpr const char* kAutomaticWord = "auto";  // 0 in JobConfig

class ConfigReader final {
 public:
  static constexpr bool kReads = true;

  explicit ConfigReader(const Json& object) : object_(object) {}

  // A key that the document does not have leaves the field as it is.
  template <typename T>
  void operator()(const char* key, T& field) {
    if (object_.contains(key)) read(object_.at(key), field);
  }
  // Not written if it is as it would be made: no limit, no file, no name.
  template <typename T>
  void unless_empty(const char* key, T& field) {
    (*this)(key, field);
  }
  void count_or_automatic(const char* key, std::uint32_t& field) {
    field = object_.at(key) == kAutomaticWord ? 0 : object_.at(key).get<std::uint32_t>();
  }
  // One of two names.
  void choice(const char* key, bool& field, const char*, const char* if_true) {
    if (object_.contains(key)) field = object_.at(key) == if_true;
  }
  // A name or a number, kept as text.
  void text(const char* key, std::string& field) {
    if (!object_.contains(key)) return;
    const Json& value = object_.at(key);
    field = value.is_string() ? value.get<std::string>() : json_text(value);
  }
  const Json& at(const char* key) const { return object_.at(key); }

 private:
  template <typename T>
  static void read(const Json& value, T& field) {
    if constexpr (HasFields<ConfigReader, T>) {
      ConfigReader fields(value);
      visit_fields(fields, field);
    } else {
      value.get_to(field);
    }
  }
  static void read(const Json& value, std::filesystem::path& field) {
    field = value.get<std::string>();
  }
  template <typename T>
  static void read(const Json& value, std::optional<T>& field) {
    read(value, field.emplace());
  }
  template <typename T>
  static void read(const Json& value, std::vector<T>& list) {
    list.clear();
    for (const Json& entry : value) read(entry, list.emplace_back());
  }

  const Json& object_;
};

class ConfigWriter final {
 public:
  static constexpr bool kReads = false;

  // An optional part that is not there is not written.
  template <typename T>
  void operator()(const char* key, const T& field) {
    put(key, written(field));
  }
  template <typename T>
  void operator()(const char* key, const std::optional<T>& field) {
    if (field) put(key, written(*field));
  }
  template <typename T>
  void unless_empty(const char* key, const T& field) {
    if (!(field == T{})) put(key, written(field));
  }
  void count_or_automatic(const char* key, std::uint32_t field) {
    put(key, field == 0 ? Json(kAutomaticWord) : Json(field));
  }
  void choice(const char* key, bool field, const char* if_false, const char* if_true) {
    put(key, field ? if_true : if_false);
  }
  void text(const char* key, const std::string& field) { put(key, field); }
  void put(const char* key, Json value) { object_[key] = std::move(value); }
  Json take() { return std::move(object_); }

 private:
  template <typename T>
  static Json written(const T& field) {
    if constexpr (HasFields<ConfigWriter, const T>) {
      ConfigWriter fields;
      visit_fields(fields, field);
      return fields.take();
    } else {
      return field;
    }
  }
  static Json written(const std::filesystem::path& field) { return field.string(); }
  template <typename T>
  static Json written(const std::vector<T>& list) {
    Json entries = Json::array();
    for (const T& entry : list) entries.push_back(written(entry));
    return entries;
  }

  Json object_ = Json::object();
};

template <typename Part>
Part read_fields(const Json& object) {
  Part part;
  ConfigReader fields(object);
  visit_fields(fields, part);
  return part;
}

template <typename Part>
Json write_fields(const Part& part) {
  ConfigWriter fields;
  visit_fields(fields, part);
  return fields.take();
}

}  // namespace scavenger
