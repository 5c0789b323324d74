// The parts of an http:// or https:// address.
#pragma once

#include <string>

namespace scavenger {

struct Url {
  bool is_secure = true;
  std::string host;
  std::string port;
  std::string target;  // path and query
};

// Throws InputError that names `where`, the place which the text comes from.
Url parse_url(const std::string& text, const std::string& where);
bool is_loopback(const Url& url);

// "a b&c" -> "a%20b%26c".
std::string percent_encoded(const std::string& text);

}  // namespace scavenger
