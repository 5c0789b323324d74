#include "kubernetes/api/yaml_text.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"

namespace scavenger::kubernetes {
namespace {

using json = nlohmann::json;

json parsed(const std::string& text) {
  return parse_yaml(text, "config");
}

}  // namespace

TEST_CASE("yaml: what kubectl writes") {
  const json config = parsed(
      "# a comment\n"
      "apiVersion: v1\n"
      "clusters:\n"
      "- cluster:\n"
      "    certificate-authority-data: QUJD=\n"
      "    server: https://10.0.0.1:6443   # where\n"
      "  name: \"one: two\"\n"
      "- name: other\n"
      "contexts: []\n"
      "preferences: {}\n"
      "users:\n"
      "  - name: 'it''s'\n"
      "    user:\n"
      "      exec:\n"
      "        args:\n"
      "        - --region\n"
      "        - eu-west-1\n"
      "        env: null\n"
      "        provideClusterInfo: false\n"
      "        installHint: |\n"
      "          Install it:\n"
      "\n"
      "            now\n"
      "        count: 3\n");
  CHECK(config["clusters"][0]["cluster"]["server"] == "https://10.0.0.1:6443");
  CHECK(config["clusters"][0]["cluster"]["certificate-authority-data"] == "QUJD=");
  CHECK(config["clusters"][0]["name"] == "one: two");
  CHECK(config["clusters"][1]["name"] == "other");
  CHECK(config["contexts"] == json::array());
  CHECK(config["preferences"] == json::object());
  CHECK(config["users"][0]["name"] == "it's");
  const json& exec = config["users"][0]["user"]["exec"];
  CHECK(exec["args"] == json{"--region", "eu-west-1"});
  CHECK(exec["env"].is_null());
  CHECK(exec["provideClusterInfo"] == false);
  CHECK(exec["installHint"] == "Install it:\n\n  now\n");
  CHECK(exec["count"] == 3);
}

TEST_CASE("yaml: JSON is YAML, too") {
  CHECK(parsed("{\"a\": {\"b\": [1, \"x\"]}}")["a"]["b"][1] == "x");
  CHECK(parsed("") == json::object());
}

TEST_CASE("yaml: what is not read is refused by its line") {
  const auto refuses = [](const std::string& text, const std::string& where) {
    CHECK_THROWS_WITH(parsed(text), Catch::Contains(where));
  };
  refuses("a: 1\n  b: 2\n", "config:2");
  refuses("a: &anchor 1\n", "config:1");
  refuses("a: [1, 2]\n", "config:1");
  refuses("a: \"open\nb: 1\n", "config:1");
  refuses("a: 'open\n", "config:1");
  refuses("just text\n", "config:1");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  refuses(deep, "nests too deep");
}

}  // namespace scavenger::kubernetes
