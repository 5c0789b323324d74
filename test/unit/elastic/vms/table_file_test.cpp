#include "elastic/vms/table_file.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <utility>

#include "runtime/base/error.h"
#include "test/support/temporary_folder.h"

namespace scavenger::elastic {
namespace {

class TableFileTest {
 protected:
  TableFile table(const std::string& text, char separator = ',') const {
    const std::filesystem::path path = folder_.path() / "table.csv";
    std::ofstream(path) << text;
    return {path, "mend it", separator};
  }

 private:
  TemporaryFolder folder_;
};

TEST_CASE_METHOD(TableFileTest, "What spreadsheets add to a table means nothing") {
  TableFile file = table("\xEF\xBB\xBFtype, seconds ,note,,\r\n\r\n a ,3,\r\n,,\nb,0.0,x,,\n");
  CHECK(file.columns() == std::vector<std::string>{"type", "seconds", "note"});
  REQUIRE(file.next());
  CHECK(file.required_text("type") == "a");
  CHECK(file.required_number("seconds") == 3.0);
  CHECK(file.present_text("note").empty());
  CHECK_FALSE(file.number("note"));
  REQUIRE(file.next());
  CHECK(file.number("seconds", /*or_zero=*/true) == 0.0);
  CHECK(file.text("note") == "x");
  CHECK(file.text("cost").empty());
  CHECK_FALSE(file.next());
  TableFile other = table("type;seconds\na,b;4", ';');
  REQUIRE(other.next());
  CHECK(other.text("type") == "a,b");
  CHECK(other.required_number("seconds") == 4.0);
}

TEST_CASE_METHOD(TableFileTest, "A fault of a table is told with its line and the remedy") {
  const auto problem_of = [](const auto& what) {
    try {
      what();
    } catch (const InputError& error) {
      return error.problem();
    }
    return Problem{};
  };
  const Problem twice = problem_of([&] { table("type,vcpu,type\n"); });
  CHECK(twice.what == "the column type is there twice");
  CHECK(twice.where.ends_with("table.csv:1"));
  CHECK(twice.remedy == "mend it");

  TableFile file = table("type,vcpu\n\na,0\nb\nc,1,2\n");
  TableFile negative = table("type,vcpu\na,-1\n");
  REQUIRE(negative.next());
  CHECK(problem_of([&] { negative.number("vcpu", /*or_zero=*/true); }).where.ends_with(":2"));
  CHECK(problem_of([&] { file.require_column("cost"); }).what == "there is no column cost");
  REQUIRE(file.next());
  const Problem zero = problem_of([&] { file.number("vcpu"); });
  CHECK(zero.what == "vcpu \"0\" is not a positive number");
  CHECK(zero.where.ends_with("table.csv:3"));
  REQUIRE(file.next());
  CHECK(problem_of([&] { file.required_number("vcpu"); }).what == "there is no vcpu");
  CHECK(problem_of([&] { file.present_text("vcpu"); }).what == "there is no vcpu");
  const Problem more = problem_of([&] { file.next(); });
  CHECK(more.what == "there are more cells than columns");
  CHECK(more.where.ends_with("table.csv:5"));
  CHECK(problem_of([&] { file.refuse_table("it has no price"); }).where.ends_with("table.csv:1"));
}

}  // namespace
}  // namespace scavenger::elastic
