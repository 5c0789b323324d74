#include "runtime/http/html.h"

#include <catch2/catch.hpp>

using namespace scavenger;

TEST_CASE("markup in text is escaped for HTML") {
  CHECK(escaped_html("<b class=\"x\">R&D's</b>") ==
        "&lt;b class=&quot;x&quot;&gt;R&amp;D&#39;s&lt;/b&gt;");
  CHECK(escaped_html("K = 4, \xc3\xa4") == "K = 4, \xc3\xa4");
}
