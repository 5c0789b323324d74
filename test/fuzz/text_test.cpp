// Texts that people and earlier runs write: configurations and event logs.

#include "elastic/events/event.h"
#include "runtime/config/config_file.h"
#include "runtime/schema/located_json.h"
#include "test/fuzz/fuzz.h"
#include "test/support/training_configs.h"
#include "test/unit/elastic/events/sample_events.h"

using namespace scavenger;

namespace {

const std::vector<std::string> kTextFragments = {"{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 ":",
                                                 "\"",
                                                 "\\",
                                                 "null",
                                                 "true",
                                                 "-1",
                                                 "1e400",
                                                 "1.5",
                                                 "0",
                                                 "1e-400",
                                                 "\xff",
                                                 "\\ud800",
                                                 "\\u0000",
                                                 "\n",
                                                 "//",
                                                 "[[[[[[",
                                                 "{\"\":",
                                                 "\"a~/b\":",
                                                 "NaN",
                                                 "4294967296",
                                                 "18446744073709551615",
                                                 "-9223372036854775809"};

}  // namespace

TEST_CASE("fuzz: a damaged JSON text is refused with its place, or every value has a line") {
  const std::string original =
      "{\n \"name\": \"x\",\n \"list\": [1, 2.5, [true, null]],\n \"deep\": {\"a\": {\"b/c\": "
      "-3}}\n}\n";

  const Verdicts verdicts = fuzz<ConfigError>(
      Mutations(73, {original, "[]", "7"}, kTextFragments), [](const std::string& text) {
        const LocatedJson located = parse_located_json(text, "damaged.json");
        require_consistent(located.document == Json::parse(text));
        require_consistent(located.places.describe(JsonPointer()).starts_with("damaged.json:"));
      });

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("a configuration nested without end is refused before its places fill the memory") {
  for (const std::string opening : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += opening;

    CHECK_FALSE(judge<ConfigError>(
        text, [](const std::string& input) { parse_located_json(input, "deep.json"); }));
  }
}

TEST_CASE("fuzz: a damaged resolved configuration is refused, or it is that of another job") {
  std::vector<std::string> originals;
  for (const std::filesystem::path& path : training_configs(SCAVENGER_CONFIGS))
    originals.push_back(to_json(load_job_config(path, {}, DataFiles::kNotChecked)).dump());
  REQUIRE_FALSE(originals.empty());

  const Verdicts verdicts = fuzz<InputError>(
      Mutations(79, originals, kTextFragments),
      [](const std::string& text) {
        const std::string again = to_json(parse_resolved_config(text, "damaged")).dump();
        require_consistent(to_json(parse_resolved_config(again, "again")).dump() == again);
      },
      {.bytes = 16 << 20, .bytes_per_byte = 1000});

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged --set is refused, or sets something") {
  const std::filesystem::path file =
      std::filesystem::path(SCAVENGER_CONFIGS) / "synthetic_mlp.json";
  const std::vector<std::string> originals = {"optimizer.learning_rate=0.05",
                                              "model.hidden=[64, 32]",
                                              "model.hidden.0=64",
                                              "stop.target=null",
                                              "name=a job",
                                              "provider={\"type\":\"local\"}"};
  std::vector<std::string> fragments = kTextFragments;
  fragments.insert(fragments.end(), {".", "=", "model.", ".0", ".-1", ".99999999999"});

  const Verdicts verdicts = fuzz<InputError>(
      Mutations(89, originals, fragments),
      [&](const std::string& text) {
        const std::string resolved =
            to_json(load_job_config(file, std::span(&text, 1), DataFiles::kNotChecked)).dump();
        parse_resolved_config(resolved, "resolved");
      },
      {.bytes = 16 << 20, .bytes_per_byte = 1000});

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged line of an event log is refused, or it is another event") {
  using namespace scavenger::elastic;
  std::vector<std::string> lines;
  for (const RunEvent& event : one_of_each())
    lines.push_back(to_json_line({.time = 12.5, .event = event}));

  const Verdicts verdicts =
      fuzz<InputError>(Mutations(83, lines, kTextFragments), [](const std::string& line) {
        const std::string again = to_json_line(from_json_line(line, "damaged:1"));
        require_consistent(to_json_line(from_json_line(again, "again:1")) == again);
      });

  CHECK(verdicts.accepted > 0);
}
