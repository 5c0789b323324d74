#include "elastic/page/report_page.h"

#include <catch2/catch.hpp>
#include <string>

namespace scavenger::elastic {
namespace {

const std::string kMarkup = "</script><script>alert(1)</script><!-- & \" '";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

}  // namespace

TEST_CASE("Markup in data and title stays text") {
  const std::string page = report_page({"{\"name\":\"" + kMarkup + "\"}"}, kMarkup);

  CHECK(count(page, "<script") == 2);  // the data and the page's own
  CHECK(count(page, "</script>") == 2);
  CHECK(count(page, "<!--") == 0);
  CHECK(page.find("alert(1)</script>") == std::string::npos);
  CHECK(page.find("<title>&lt;/script&gt;") != std::string::npos);
}

TEST_CASE("A report may load nothing, and a live page only from the job that sent it") {
  std::string policy;
  const std::string live = live_page("a", policy);
  const std::string report = report_page({}, "a");

  CHECK(report.find("connect-src 'none'") != std::string::npos);
  CHECK(policy.find("connect-src 'self'") != std::string::npos);
  for (const std::string& page : {live, report}) {
    CHECK(page.find("default-src 'none'") != std::string::npos);
    CHECK(page.find("unsafe") == std::string::npos);
    CHECK(page.find("src=") == std::string::npos);
    CHECK(count(page, "http://") == 1);  // the name of SVG, which is no address
    CHECK(count(page, "https://") == 0);
  }
}

TEST_CASE("Runs stand in the order that they were given in") {
  const std::string page = report_page({"{\"a\":1}", "{\"b\":2}"}, "two");

  CHECK(page.find("{\"runs\":[{\"a\":1},{\"b\":2}]}") != std::string::npos);
}

}  // namespace scavenger::elastic
