"""Proves that each rule can fail: every case writes a tiny tree and looks at what the rule finds in it."""

import pathlib
import tempfile
import unittest

import banned
import built_files
import coroutines
import documents
import file_length
import formatting
import includes
import layering
import sizes
from source_tree import SourceTree, code_only


class TidyTest(unittest.TestCase):
    def findings(self, rule, files):
        """What `rule` finds in a tree of {path: text}, as "path:line"."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                target = pathlib.Path(root, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
            return [f"{finding.path}:{finding.line}" for finding in rule.findings(SourceTree(root))]

    # sizes

    def class_of(self, methods, fields, comment=""):
        lines = [f"  void do_{i}() {{ if (a_) {{ b(); }} }}" for i in range(methods)]
        lines += ["  static constexpr int kMost = 3;", "  enum class Kind { kOne, kTwo };", "  struct Part { int a; };"]
        lines += [f"  std::function<int(int)> f{i}_ = [](int a) {{ return a; }};" for i in range(fields)]
        return "\n".join([comment, "template <typename T>", "class Big final : public Base<T> {", *lines, "};", ""])

    def test_a_class_may_be_as_large_as_the_limits(self):
        self.assertEqual(self.findings(sizes, {"elastic/a.h": self.class_of(25, 20)}), [])

    def test_a_class_of_many_methods_or_fields_is_found(self):
        self.assertEqual(self.findings(sizes, {"elastic/a.h": self.class_of(26, 3)}), ["elastic/a.h:3"])
        self.assertEqual(self.findings(sizes, {"elastic/a.h": self.class_of(3, 21)}), ["elastic/a.h:3"])

    def test_a_reason_at_the_head_is_accepted_for_what_it_names(self):
        reason = "// Its more than 25\n// methods are one for each event."
        self.assertEqual(self.findings(sizes, {"elastic/a.h": self.class_of(26, 3, reason)}), [])
        self.assertEqual(self.findings(sizes, {"elastic/a.h": self.class_of(26, 21, reason)}), ["elastic/a.h:4"])

    def test_a_folder_of_many_files_is_found(self):
        files = {f"elastic/a/file{i}.h": "" for i in range(31)} | {"elastic/CMakeLists.txt": ""}
        self.assertEqual(self.findings(sizes, files), ["elastic/a:1"])

    # layering

    def test_an_include_of_a_lower_layer_is_fine(self):
        files = {"elastic/report/a.cpp": '#include "ps/core/b.h"\n#include "runtime/base/error.h"\n'}
        self.assertEqual(self.findings(layering, files), [])

    def test_an_include_of_a_higher_layer_is_found(self):
        files = {
            "ps/core/a.cpp": '#include "runtime/base/error.h"\n#include "elastic/report/b.h"\n',
            "perfmodel/fit/a.cpp": '#include "perfmodel/plan/b.h"\n',
            "elastic/events/a.h": '#include "elastic/history/b.h"\n',
        }
        self.assertEqual(self.findings(layering, files),
                         ["elastic/events/a.h:1", "perfmodel/fit/a.cpp:1", "ps/core/a.cpp:2"])

    def test_an_include_of_a_sibling_is_found(self):
        files = {
            "noise/a.h": '#include "perfmodel/fit/b.h"\n',
            "runtime/net/a.h": '#include "runtime/schema/b.h"\n',
            "elastic/planning/a.h": '#include "elastic/search/b.h"\n#include "elastic/coordinator/b.h"\n',
        }
        self.assertEqual(self.findings(layering, files), ["elastic/planning/a.h:2", "noise/a.h:1", "runtime/net/a.h:1"])

    def test_an_include_of_a_folder_without_a_layer_is_found(self):
        self.assertEqual(self.findings(layering, {"apps/a.cpp": '#include "helpers/b.h"\n'}), ["apps/a.cpp:1"])
        self.assertEqual(self.findings(layering, {"runtime/new/a.cpp": '#include "runtime/base/b.h"\n'}),
                         ["runtime/new/a.cpp:1"])

    def test_libtorch_outside_its_folder_is_found(self):
        files = {
            "runtime/torch/a.cpp": "#include <torch/torch.h>\n",
            "ps/a.cpp": "#include <torch/torch.h>\n",
            "runtime/data/a.cpp": "\n#include <c10/util/Half.h>\n",
        }
        self.assertEqual(self.findings(layering, files), ["ps/a.cpp:1", "runtime/data/a.cpp:2"])

    def test_a_kind_of_provider_is_known_to_its_folder_and_to_who_names_all_kinds(self):
        files = {
            "runtime/provider/ssh/a.cpp": '#include "runtime/provider/ssh/b.h"\n#include "runtime/provider/slurm/b.h"\n',
            "runtime/provider/a.cpp": '#include "runtime/provider/ssh/b.h"\n#include "runtime/provider/machine.h"\n',
            "elastic/search/a.cpp": '#include "runtime/provider/emulated/b.h"\n#include "cloud_gcp/api/b.h"\n',
            "elastic/providers/a.cpp": '#include "runtime/provider/ssh/b.h"\n#include "cloud_gcp/provider/b.h"\n',
            "apps/a.cpp": '#include "cloud_gcp/provider/b.h"\n#include "runtime/provider/ssh/b.h"\n',
        }
        self.assertEqual(set(self.findings(layering, files)), {
            "apps/a.cpp:2", "elastic/search/a.cpp:1", "elastic/search/a.cpp:2", "runtime/provider/a.cpp:1",
            "runtime/provider/ssh/a.cpp:2"})

    def test_only_apps_see_the_folder_of_libtorch(self):
        files = {"apps/a.cpp": '#include "runtime/torch/trainer/b.h"\n',
                 "elastic/report/a.cpp": '#include "runtime/torch/trainer/b.h"\n'}
        self.assertEqual(self.findings(layering, files), ["elastic/report/a.cpp:1"])

    def test_product_code_that_includes_a_test_is_found(self):
        self.assertEqual(self.findings(layering, {"ps/core/a.cpp": '#include "test/support/b.h"\n'}),
                         ["ps/core/a.cpp:1"])

    # coroutines

    def test_a_lambda_in_an_awaited_expression_is_found(self):
        files = {"ps/a.cpp": "awaitable<void> f() {\n  co_await g(\n      [x] { return x; });\n}\n"}
        self.assertEqual(self.findings(coroutines, files), ["ps/a.cpp:3"])

    def test_braces_in_an_awaited_expression_are_found(self):
        files = {"ps/a.cpp": "f() { co_await g({.x = 1}); }\n", "ps/b.cpp": "f() { if (co_await g(Options{1})) h(); }\n"}
        self.assertEqual(self.findings(coroutines, files), ["ps/a.cpp:1", "ps/b.cpp:1"])

    def test_an_awaited_name_is_fine(self):
        files = {"ps/a.cpp": "f() {\n  auto o = [x] {};  // co_await {\n  if (co_await g(std::move(o))) {\n    h();\n  }\n}\n"}
        self.assertEqual(self.findings(coroutines, files), [])

    def test_a_number_in_braces_is_fine(self):
        self.assertEqual(self.findings(coroutines, {"ps/a.cpp": "f() { co_await g(std::size_t{8} << 20); }\n"}), [])

    def test_a_coroutine_whose_failure_is_dropped_is_found(self):
        files = {"ps/a.cpp": "f() { asio::co_spawn(io, g(), asio::detached); }\n", "test/ps/a.cpp": "asio::detached\n"}
        self.assertEqual(self.findings(coroutines, files), ["ps/a.cpp:1"])

    # banned

    def test_each_banned_word_is_found(self):
        for line in ("auto now = std::chrono::system_clock::now();", "auto now = std::chrono::steady_clock::now();",
                     "auto now = asio::steady_timer::clock_type::now();", "int x = rand();", "std::srand(1);",
                     "std::this_thread::sleep_for(1s);", 'std::cout << "x";', 'std::printf("x");', "thread.detach();",
                     "std::uniform_int_distribution<int> d(1, 2);", "// TODO later",
                     "auto text = document.dump();", "auto json = nlohmann::ordered_json::parse(text);"):
            with self.subTest(line):
                self.assertEqual(self.findings(banned, {"ps/a.cpp": f"\n{line}\n"}), ["ps/a.cpp:2"])

    def test_using_namespace_in_a_header_is_found(self):
        text = "#pragma once\nusing namespace std;\n"
        self.assertEqual(self.findings(banned, {"ps/a.h": text, "ps/a.cpp": text}), ["ps/a.h:2"])

    def test_a_header_without_pragma_once_is_found(self):
        self.assertEqual(self.findings(banned, {"ps/a.h": "int f();\n"}), ["ps/a.h:1"])

    def test_tests_may_sleep_and_apps_may_print(self):
        files = {"test/ps/a.cpp": "std::this_thread::sleep_for(1s);\n", "apps/a.cpp": "std::cout << 1;\n"}
        self.assertEqual(self.findings(banned, files), [])

    def test_words_in_comments_strings_and_longer_names_are_fine(self):
        files = {"ps/a.cpp": '// rand() is bad\nauto s = "system_clock";\nint n = operand(1) + brand (2) + x.rand(3);\n'}
        self.assertEqual(self.findings(banned, files), [])

    # file_length

    def test_a_file_of_more_than_500_lines_is_found(self):
        files = {"ps/a.cpp": "\n" * 501, "ps/b.cpp": "\n" * 500}
        self.assertEqual(self.findings(file_length, files), ["ps/a.cpp:501"])

    # built_files

    def test_a_test_that_no_target_builds_is_found(self):
        files = {
            "test/ps/CMakeLists.txt": "scavenger_test(ps_test SOURCES a_test.cpp # b_test.cpp\n)\n",
            "test/ps/a_test.cpp": "",
            "test/ps/b_test.cpp": "",
        }
        self.assertEqual(self.findings(built_files, files), ["test/ps/b_test.cpp:1"])

    def test_a_file_of_another_folder_with_the_same_name_is_no_excuse(self):
        files = {"ps/CMakeLists.txt": "SOURCES a.cpp", "ps/a.cpp": "", "noise/a.cpp": ""}
        self.assertEqual(self.findings(built_files, files), ["noise/a.cpp:1"])

    # documents

    SCHEMA = """{"properties": {"name": {"type": "string"}, "stop": {"$ref": "#/definitions/stop"}, "model": {"oneOf": [
        {"properties": {"hidden": {"items": {"type": "integer"}}}}, {"properties": {"dense": {"type": "integer"}}}]}},
        "definitions": {"stop": {"properties": {"max_cost": {"type": "number"}}}}}"""

    def document_findings(self, text, **others):
        return self.findings(documents, {"configs/scavenger.schema.json": self.SCHEMA, "docs/a.md": text, **others})

    def test_a_key_that_the_configuration_lacks_is_found(self):
        self.assertEqual(self.document_findings("`stop.max_cost`, `model.hidden.0` and `model.dense`\n"), [])
        self.assertEqual(self.document_findings("\nSet `stop.port`.\n"), ["docs/a.md:2"])
        self.assertEqual(self.document_findings("`model.hidden.size`\n"), ["docs/a.md:1"])
        self.assertEqual(self.document_findings("    --set stp.max_cost=1 --set stop.max_cost=1\n"), ["docs/a.md:1"])

    def test_a_key_in_the_readme_is_looked_at(self):
        self.assertEqual(self.document_findings("", **{"README.md": "`stop.port`\n"}), ["README.md:1"])

    def test_what_only_looks_like_a_key_is_fine(self):
        self.assertEqual(self.document_findings("`report.json`, `torch.save`, `std::stop.port`\n"), [])

    def test_a_link_to_nothing_is_found(self):
        text = "# First part: a `b`\n[x](b.md) [y](b.md#second) [z](#first-part-a-b) [w](https://example.org/none)\n"
        self.assertEqual(self.document_findings(text, **{"docs/b.md": "## Second\n"}), [])
        self.assertEqual(self.document_findings(text, **{"docs/b.md": "## Third\n"}), ["docs/a.md:2"])
        self.assertEqual(self.document_findings(text), ["docs/a.md:2", "docs/a.md:2"])

    def test_a_heading_inside_of_a_code_block_is_no_place_to_link_to(self):
        self.assertEqual(self.document_findings("```\n# x\n```\n[x](#x)\n"), ["docs/a.md:4"])

    def test_a_file_that_is_not_there_is_found(self):
        text = "`ps/core/a.h`, `a.h`, ps/core/, build/release/test/a_test, `test/loss`, ps/core/NAME.h\n"
        self.assertEqual(self.document_findings(text, **{"ps/core/a.h": ""}), [])
        self.assertEqual(self.document_findings(text, **{"ps/core/b.h": ""}), ["docs/a.md:1", "docs/a.md:1"])
        self.assertEqual(self.document_findings("ps/shm/\n"), ["docs/a.md:1"])

    def test_a_document_that_only_code_names_is_found(self):
        files = {"ps/a.cpp": "// docs/a.md\n", "ps/b.cpp": "\n// docs/b.md\n"}
        self.assertEqual(self.document_findings("", **files), ["ps/b.cpp:2"])

    def test_a_long_line_of_prose_is_found(self):
        self.assertEqual(self.document_findings("# A\n\n" + "word " * 19 + "words\n"), [])
        self.assertEqual(self.document_findings("# A\n\n" + "word " * 20 + "more\n"), ["docs/a.md:3"])
        self.assertEqual(self.document_findings("```\nx\n```\n- " + "word " * 20 + "\n"), ["docs/a.md:4"])
        self.assertEqual(self.document_findings("", **{"README.md": "word " * 21}), ["README.md:1"])

    def test_a_long_line_that_cannot_be_wrapped_is_fine(self):
        long = "word " * 21
        text = f"| {long} |\n   | {long} |\n\n```sh\n{long}\n```\n\n1. a\n\n   ```\n   {long}\n   ```\n"
        self.assertEqual(self.document_findings(text), [])
        address = "https://example.org/" + "x" * 100
        self.assertEqual(self.document_findings(f"- [a]({address})\n![b c]({address})\n"), [])
        self.assertEqual(self.document_findings(f"See [a]({address}) and more.\n"), ["docs/a.md:1"])

    # includes

    def test_a_standard_header_that_is_not_named_is_found(self):
        files = {"ps/a.h": "#include <string>\n\nstd::string a(std::function<void()> f);  // std::vector\n",
                 "ps/b.h": "#include <functional>\n#include <string>\nstd::string a(std::function<void()> f, std::size_t n);\n",
                 "ps/c.cpp": "std::vector<int> x;\n"}
        self.assertEqual(self.findings(includes, files), ["ps/a.h:3"])

    def test_a_file_that_includes_its_own_header_late_is_found(self):
        files = {"ps/a.h": "", "ps/a.cpp": '#include <string>\n\n#include "ps/a.h"\n', "ps/b.h": "",
                 "ps/b.cpp": '// b\n#include "ps/b.h"\n\n#include <string>\n', "ps/c.cpp": "#include <string>\n"}
        self.assertEqual(self.findings(includes, files), ["ps/a.cpp:1"])

    # formatting

    def test_an_unformatted_file_is_found(self):
        try:
            formatting.formatter()
        except formatting.NoFormatter as reason:
            self.skipTest(str(reason))
        files = {"ps/a.cpp": "int x = 1;\n", "ps/b.cpp": "int  x=1 ;\n"}
        self.assertEqual(self.findings(formatting, files), ["ps/b.cpp:1"])

    # source_tree

    def test_code_only_keeps_places_and_digit_separators(self):
        code = code_only("a /* x\n y */ b \"c\\\"d\" 1'000'000 R\"(e\")\" f // g\nh")
        self.assertEqual(code.split(), ["a", "b", "1'000'000", "f", "h"])
        self.assertEqual(code.count("\n"), 2)


if __name__ == "__main__":
    unittest.main()
