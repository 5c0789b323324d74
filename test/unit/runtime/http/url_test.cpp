#include "runtime/http/url.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"

using namespace scavenger;

TEST_CASE("an address has a host, a port and a target, each with its default") {
  const Url plain = parse_url("http://10.0.0.5:7077/models?a=1", "test");
  CHECK_FALSE(plain.is_secure);
  CHECK(plain.host == "10.0.0.5");
  CHECK(plain.port == "7077");
  CHECK(plain.target == "/models?a=1");
  const Url secure = parse_url("https://example.org", "test");
  CHECK(secure.is_secure);
  CHECK(secure.port == "443");
  CHECK(secure.target == "/");
}

TEST_CASE("what is no address is refused with the place that it comes from") {
  for (const char* text : {"", "ftp://a", "http://", "http://:80", "http://a b", "http://a:\r\n"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_url(text, "model_store.url"), InputError);
  }
  try {
    parse_url("nothing", "model_store.url");
  } catch (const InputError& error) {
    CHECK(error.problem().where == "model_store.url");
  }
}

TEST_CASE("only loopback counts as loopback; text is escaped byte by byte") {
  CHECK(is_loopback(parse_url("http://127.0.0.1:80", "test")));
  CHECK(is_loopback(parse_url("http://localhost", "test")));
  CHECK_FALSE(is_loopback(parse_url("http://128.0.0.1", "test")));
  CHECK(percent_encoded("a b&c=\xc3\xa9-_.~") == "a%20b%26c%3D%C3%A9-_.~");
}
