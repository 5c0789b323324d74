#include "runtime/http/url.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "runtime/base/error.h"

namespace scavenger {

Url parse_url(const std::string& text, const std::string& where) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    url.is_secure = false;
  } else {
    rest = {};
  }
  const auto slash = rest.find('/');
  const std::string_view authority = rest.substr(0, slash);
  url.target = slash == std::string_view::npos ? "/" : std::string(rest.substr(slash));
  const auto colon = authority.rfind(':');
  url.host = authority.substr(0, colon);
  url.port = colon == std::string_view::npos ? (url.is_secure ? "443" : "80")
                                             : std::string(authority.substr(colon + 1));
  if (url.host.empty() || url.port.empty() || text.find_first_of(" \r\n") != std::string::npos)
    throw InputError({.what = fmt::format("\"{}\" is no URL", text),
                      .where = where,
                      .remedy = "write https://HOST or https://HOST:PORT"});
  return url;
}

bool is_loopback(const Url& url) {
  return url.host == "localhost" || url.host.starts_with("127.");
}

std::string percent_encoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128 && (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~'))
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", byte);
  }
  return encoded;
}

}  // namespace scavenger
