#include "elastic/events/event.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>
#include <utility>

#include "elastic/events/event_fields.h"
#include "elastic/events/series_statistics.h"
#include "elastic/events/written_iterations.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/named_variant.h"
#include "runtime/vocabulary/word_json.h"

namespace scavenger::elastic {
namespace {

using nlohmann::json;

constexpr double kLongestJobSeconds = 3.2e9;  // a hundred years

// What must hold beyond the types of the fields; "" where all is well.
std::string inconsistency(const fact::Membership& membership) {
  std::uint64_t sum = 0;
  for (const std::uint32_t share : membership.shares) sum += share;
  if (membership.shares.size() != membership.workers)
    return "shares must have one entry per worker";
  if (membership.indices.size() != membership.workers)
    return "indices must have one entry per worker";
  if (sum != membership.batch_size) return "shares must sum to batch_size";
  return {};
}

std::string inconsistency(const std::vector<fact::HalfBatches>& half_batches) {
  for (const fact::HalfBatches& halves : half_batches)
    if (halves.whole_sqr_norm.empty() ||
        halves.first_sqr_norm.size() != halves.whole_sqr_norm.size() ||
        halves.second_sqr_norm.size() != halves.whole_sqr_norm.size())
      return "half_batches must have the same groups in each list";
  return {};
}

std::string inconsistency(const fact::Iterations& iterations) {
  const auto wrong = [&](const std::vector<double>& series) {
    return series.size() != iterations.count;
  };
  if (wrong(iterations.loss) || wrong(iterations.seconds) || wrong(iterations.global_sqr_norm))
    return "each series must have count entries";
  for (const fact::WorkerSeries& worker : iterations.workers)
    if (wrong(worker.data_wait) || wrong(worker.forward) || wrong(worker.backward) ||
        wrong(worker.sync_wait) || wrong(worker.local_sqr_norm))
      return "each worker's series must have count entries";
  return inconsistency(iterations.half_batches);
}

bool is_digest(const fact::SeriesDigest& digest) {
  return (digest.count == 0 ? digest.moments.empty() : digest.moments.size() == 4) &&
         QuantileSketch::is_encoded(digest.quantiles);
}

std::string inconsistency(const fact::IterationBlock& block) {
  bool are_digests = true;
  for (const fact::SeriesDigest* digest :
       {&block.loss, &block.seconds, &block.data_wait, &block.forward, &block.backward,
        &block.compute, &block.sync_wait, &block.transfer, &block.straggler_skew})
    are_digests &= is_digest(*digest);
  for (const fact::WorkerDigest& worker : block.workers)
    for (const fact::SeriesDigest* digest :
         {&worker.data_wait, &worker.forward, &worker.backward, &worker.compute, &worker.sync_wait,
          &worker.straggler_wait})
      are_digests &= is_digest(*digest);
  if (!are_digests) return "a digest must have four moments, or a count of 0, and its quantiles";
  for (const std::vector<fact::Exact>* noise : {&block.job_noise, &block.membership_noise})
    if (noise->size() != fact::kNoiseStateNumbers)
      return fmt::format("the state of a noise estimator has {} numbers", fact::kNoiseStateNumbers);
  return inconsistency(block.half_batches);
}

template <typename Fact>
std::string inconsistency(const Fact&) {
  return {};
}

// Writes an object's fields as it is walked over by visit_fields().
class FieldWriter final {
 public:
  FieldWriter(fmt::memory_buffer& out, bool first) : out_(out), first_(first) {}

  template <typename T>
  void operator()(std::string_view key, const T& value) {
    if (!first_) out_.push_back(',');
    first_ = false;
    fmt::format_to(std::back_inserter(out_), FMT_COMPILE("\"{}\":"), key);
    write(value);
  }

 private:
  template <typename T>
  void write(const T& value) {
    if constexpr (Word<T>) {
      write(std::string(name_of(value)));
    } else if constexpr (std::is_arithmetic_v<T>) {
      fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{}"), value);
    } else {
      out_.push_back('{');
      FieldWriter fields(out_, true);
      visit_fields(fields, value);
      out_.push_back('}');
    }
  }

  void write(double value) {
    if (std::isfinite(value))
      fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{}"), value);
    else
      append("null");
  }

  void write(const fact::Exact& number) { write(number.value); }

  void write(const std::string& text) {
    append(json_text(json(text), {.broken_utf8 = BrokenUtf8::kReplace}));
  }

  template <typename T>
  void write(const std::optional<T>& value) {
    if (value)
      write(*value);
    else
      append("null");
  }

  template <typename T>
  void write(const std::vector<T>& list) {
    out_.push_back('[');
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out_.push_back(',');
      write_entry(list[i]);
    }
    out_.push_back(']');
  }

  template <typename T>
  void write_entry(const T& value) {
    write(value);
  }

  // Measured series: five digits are what a measurement is worth, and keep a million iterations
  // small.
  void write_entry(double value) {
    if (std::isfinite(value))
      fmt::format_to(std::back_inserter(out_), FMT_COMPILE("{:.5g}"), value);
    else
      append("null");
  }

  void append(std::string_view text) { out_.append(text.data(), text.data() + text.size()); }

  fmt::memory_buffer& out_;
  bool first_;
};

[[noreturn]] void fail(const std::string& where, std::string what) {
  throw InputError({.what = std::move(what),
                    .where = where,
                    .remedy = "the event log is damaged or was written by another version"});
}

// Reads an object's fields as it is walked over by visit_fields().
class FieldReader final {
 public:
  // `known` are keys that the caller has read already.
  FieldReader(const json& object, std::string context, const std::string& where,
              std::vector<std::string_view> known)
      : object_(object), context_(std::move(context)), where_(where), known_(std::move(known)) {}

  template <typename T>
  void operator()(const char* key, T& value) {
    const auto found = object_.find(key);
    if (found == object_.end()) return read_missing(key, value);
    known_.push_back(key);
    read(*found, value, key);
  }

  // Call after the walk: what was not read has no place here.
  void refuse_the_rest() const {
    if (known_.size() == object_.size()) return;
    for (const auto& item : object_.items())
      if (std::find(known_.begin(), known_.end(), item.key()) == known_.end())
        fail(where_, fmt::format("{} has an unknown field '{}'", context_, item.key()));
  }

 private:
  [[noreturn]] void refuse(const char* key, std::string_view expected) const {
    fail(where_, fmt::format("{}: field '{}' must be {}", context_, key, expected));
  }

  // What may be null was not there before somebody thought of it: older logs have no such field.
  template <typename T>
  void read_missing(const char*, std::optional<T>& value) const {
    value.reset();
  }

  template <typename T>
  void read_missing(const char* key, T&) const {
    fail(where_, fmt::format("{} has no field '{}'", context_, key));
  }

  template <typename T>
  void read(const json& node, T& value, const char* key) {
    if constexpr (Word<T>) {
      read_word(node, value, key);
    } else if constexpr (std::is_unsigned_v<T>) {
      if (!node.is_number_unsigned() || node.get<std::uint64_t>() > std::numeric_limits<T>::max())
        refuse(key, "a whole number in range");
      value = static_cast<T>(node.get<std::uint64_t>());
    } else if constexpr (std::is_integral_v<T>) {
      const bool fits_signed =
          node.is_number_integer() &&
          (!node.is_number_unsigned() ||
           node.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
      if (!fits_signed || node.get<std::int64_t>() > std::numeric_limits<T>::max() ||
          node.get<std::int64_t>() < std::numeric_limits<T>::min())
        refuse(key, "a whole number in range");
      value = static_cast<T>(node.get<std::int64_t>());
    } else {
      if (!node.is_object()) refuse(key, "an object");
      FieldReader fields(node, fmt::format("{}, {}", context_, key), where_, {});
      visit_fields(fields, value);
      fields.refuse_the_rest();
    }
  }

  void read(const json& node, bool& value, const char* key) {
    if (!node.is_boolean()) refuse(key, "true or false");
    value = node.get<bool>();
  }

  void read(const json& node, double& value, const char* key) {
    if (node.is_null())
      value = std::numeric_limits<double>::quiet_NaN();
    else if (node.is_number())
      value = node.get<double>();
    else
      refuse(key, "a number or null");
  }

  void read(const json& node, fact::Exact& number, const char* key) {
    read(node, number.value, key);
  }

  void read(const json& node, std::string& value, const char* key) {
    if (!node.is_string()) refuse(key, "text");
    value = node.get_ref<const std::string&>();
  }

  template <typename T>
  void read(const json& node, std::optional<T>& value, const char* key) {
    value.reset();
    if (!node.is_null()) read(node, value.emplace(), key);
  }

  template <typename T>
  void read(const json& node, std::vector<T>& list, const char* key) {
    if (!node.is_array()) refuse(key, "a list");
    list.resize(node.size());
    for (std::size_t i = 0; i < list.size(); ++i) read(node[i], list[i], key);
  }

  template <Word T>
  void read_word(const json& node, T& value, const char* key) {
    const auto found =
        node.is_string() ? find_word<T>(node.get_ref<const std::string&>()) : std::nullopt;
    if (!found) refuse(key, choices_of<T>());
    value = *found;
  }

  const json& object_;
  const std::string context_;
  const std::string& where_;
  std::vector<std::string_view> known_;
};

RunEvent read_event(const json& object, const std::string& name, const std::string& where) {
  RunEvent event;
  const auto take = [&]<typename Fact>(std::type_identity<Fact>) {
    Fact& fact = event.emplace<Fact>();
    const std::string context = fmt::format("event '{}'", name);
    FieldReader fields(object, context, where, {"time", "event"});
    visit_fields(fields, fact);
    fields.refuse_the_rest();
    if (const std::string problem = inconsistency(fact); !problem.empty())
      fail(where, fmt::format("{}: {}", context, problem));
  };
  if (!with_alternative(name, std::type_identity<RunEvent>(), take))
    fail(where, fmt::format("there is no event '{}'", name));
  return event;
}

// What goes on with the log would count from there.
void require_time(double seconds, const std::string& where) {
  if (seconds <= kLongestJobSeconds) return;
  fail(where, fmt::format("no job has lived for {:g} seconds", seconds));
}

// A log of a newer schema may have any shape, so this comes before its fields are looked at.
void refuse_newer_schema(const json& object, const std::string& where) {
  const auto version = object.find("schema_version");
  if (version == object.end() || !version->is_number_unsigned() ||
      version->get<std::uint64_t>() <= kEventSchemaVersion)
    return;
  throw InputError({.what = fmt::format("the event log has schema version {}, and this program "
                                        "knows versions up to {}",
                                        version->get<std::uint64_t>(), kEventSchemaVersion),
                    .where = where,
                    .remedy = "use the version of Scavenger that wrote it, or a newer one"});
}

}  // namespace

std::string_view event_name(const RunEvent& event) {
  return name_of_alternative(event);
}

bool is_measurement(const RunEvent& event) {
  return std::holds_alternative<fact::Iterations>(event) ||
         std::holds_alternative<fact::IterationBlock>(event);
}

std::string to_json_line(const LoggedEvent& logged) {
  fmt::memory_buffer out;
  out.push_back('{');
  FieldWriter fields(out, true);
  fields("time", logged.time);
  fields("event", std::string(event_name(logged.event)));
  std::visit(
      [&](const auto& fact) {
        SCAVENGER_CHECK(inconsistency(fact).empty());
        visit_fields(fields, fact);
      },
      logged.event);
  out.push_back('}');
  return fmt::to_string(out);
}

LoggedEvent from_json_line(std::string_view line, const std::string& where) {
  if (auto written = read_written_iterations(line)) {
    const std::string problem = inconsistency(std::get<fact::Iterations>(written->event));
    if (!problem.empty()) fail(where, fmt::format("event 'iterations': {}", problem));
    require_time(written->time, where);
    return std::move(*written);
  }
  const json object = try_parse_json(line).value_or(nullptr);
  if (!object.is_object()) fail(where, "this line is not a JSON object");
  const auto time = object.find("time");
  if (time == object.end() || !time->is_number())
    fail(where, "an event must have a 'time' in seconds");
  require_time(time->get<double>(), where);
  const auto name = object.find("event");
  if (name == object.end() || !name->is_string()) fail(where, "an event must have a name, 'event'");
  refuse_newer_schema(object, where);
  return {.time = time->get<double>(),
          .event = read_event(object, name->get_ref<const std::string&>(), where)};
}

}  // namespace scavenger::elastic
