#pragma once

#include <string>
#include <string_view>

namespace kawara::explain {

/// Text in which HTML sees no markup; what is not UTF-8 or a control character becomes `?`.
std::string html_text(const std::string& text);

/// One HTML document that needs nothing else. It begins with `tables`, which are HTML; where
/// scripts run, the script of tools/report shows `json` in their place. Its policy allows that
/// script and no request. Long JSON is deflated.
std::string page_frame(const std::string& title, const std::string& tables,
                       const std::string& json);

// Made from tools/report/dist when Kawara is built: the script, the style, and the script's hash
// in base64 with an end of line.
std::string_view report_js();
std::string_view report_css();
std::string_view report_sha256();

} // namespace kawara::explain
