#include "elastic/page/report_page.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "elastic/page/assets/assets.h"
#include "runtime/base/digest.h"
#include "runtime/base/json_text.h"
#include "runtime/http/html.h"
#include "runtime/vocabulary/metric.h"

namespace scavenger::elastic {
namespace {

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j)
      three =
          three << 8 | (i + j < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + j]) : 0);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? kDigits[three >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

// How a policy names an inline script or style: only text of this digest is obeyed.
std::string policy_digest(std::string_view text) {
  const Digest digest = sha256(std::as_bytes(std::span(text)));
  return "'sha256-" + base64(digest) + "'";
}

// What the scripts know of metrics, from the program's one table of them.
std::string metrics_script() {
  nlohmann::ordered_json metrics;
  for (const MetricEntry& metric : kMetrics)
    metrics[std::string(metric.name)] = {{"title", metric.title},
                                         {"is_better_when_high", metric.is_better_when_high},
                                         {"is_share", metric.scale == MetricScale::kShare}};
  return fmt::format("const Metrics = {};\n", json_text(metrics));
}

std::string script_text() {
  return metrics_script() + std::string(page_format_script()) + page_drawing_script() +
         page_chart_script() + page_row_script() + page_section_script() +
         page_prediction_script() + page_live_script() + page_script();
}

// JSON within a script element: nothing in it may end the element or begin a comment.
std::string json_for_script(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result;
}

std::string policy_for(std::string_view script, std::string_view style,
                       std::string_view connections) {
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; connect-src {}; img-src data:; "
      "base-uri 'none'; form-action 'none'",
      policy_digest(script), policy_digest(style), connections);
}

std::string document(const std::string& title, const std::string& policy, const std::string& script,
                     std::string_view data) {
  return fmt::format(
      R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{}</title>
<style>{}</style>
</head>
<body>
<noscript>This page draws its charts with its own script: allow it to run. Nothing is loaded from anywhere.</noscript>
<main id="page"></main>
<script type="application/json" id="data">{}</script>
<script>{}</script>
</body>
</html>
)",
      policy, escaped_html(title), page_style(), data, script);
}

}  // namespace

std::string report_page(const std::vector<std::string>& runs, const std::string& title) {
  const std::string script = script_text();
  std::string data = "{\"runs\":[";
  for (const std::string& run : runs) {
    if (data.back() != '[') data += ',';
    data += json_for_script(run);
  }
  data += "]}";
  return document(title, policy_for(script, page_style(), "'none'"), script, data);
}

std::string live_page(const std::string& title, std::string& policy) {
  const std::string script = script_text();
  policy = policy_for(script, page_style(), "'self'");
  return document(title, policy, script, "{\"live\":true}");
}

}  // namespace scavenger::elastic
