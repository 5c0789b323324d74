// The report as one HTML file that needs no other, no network and no server.
#pragma once

#include <string>
#include <vector>

namespace scavenger::elastic {

// Each run is a JSON object as to_json_object() makes it. Its script and styles are inside, by a
// policy that lets the page load and run nothing else.
std::string report_page(const std::vector<std::string>& runs, const std::string& title);

// The same page without data, which it gets from the server that sent it (live_page.h). `policy`
// receives the Content-Security-Policy to send with it.
std::string live_page(const std::string& title, std::string& policy);

}  // namespace scavenger::elastic
