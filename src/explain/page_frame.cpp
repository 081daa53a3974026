#include "explain/page_frame.h"

#include "support/check.h"
#include "support/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

namespace kawara::explain {
namespace {

/// Longer texts are deflated: a reader may like to look at shorter ones.
constexpr size_t kLongestPlain = 256 << 10;

std::string deflated(const std::string& text) {
  z_stream stream{};
  constexpr int kNoHeader = -15, kMemory = 9;
  const int begun =
      deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kNoHeader, kMemory, Z_DEFAULT_STRATEGY);
  KAWARA_CHECK(begun == Z_OK, "zlib does not begin");
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  KAWARA_CHECK(ended == Z_STREAM_END, "zlib does not end");
  return out;
}

std::string base64(const std::string& bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t k = 0; k < bytes.size(); k += 3) {
    uint32_t three = 0;
    for (size_t i = 0; i < 3; ++i)
      three = three << 8 | (k + i < bytes.size() ? static_cast<unsigned char>(bytes[k + i]) : 0);
    for (size_t i = 0; i < 4; ++i)
      text += k + i <= bytes.size() ? kDigits[three >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

/// What `<` would begin in a script of data is no markup as `\u003c`, which JSON reads the same.
std::string data_element(const std::string& json) {
  const std::string text = nlohmann::ordered_json::parse(json).dump();
  const std::string begin = "<script id=\"report-data\" type=\"application/json\"";
  if (text.size() > kLongestPlain)
    return begin + " data-encoding=\"deflate-raw\">" + base64(deflated(text)) + "</script>\n";
  std::string safe;
  for (const char c : text)
    safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return begin + ">" + safe + "</script>\n";
}

} // namespace

std::string html_text(const std::string& text) {
  std::string safe;
  for (const char c : printable(text))
    safe += c == '<'    ? "&lt;"
            : c == '>'  ? "&gt;"
            : c == '&'  ? "&amp;"
            : c == '"'  ? "&quot;"
            : c == '\'' ? "&#39;"
                        : std::string(1, c);
  return safe;
}

std::string page_frame(const std::string& title, const std::string& tables,
                       const std::string& json) {
  std::string hash(report_sha256());
  hash.pop_back();
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
      "'sha256-{}'; style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>",
      hash, html_text(title));
  text += report_css();
  text += "</style>\n</head>\n<body>\n<main id=\"static\">\n" + tables + "</main>\n";
  text += data_element(json) + "<script id=\"report-script\">";
  text += report_js();
  return text + "</script>\n</body>\n</html>\n";
}

} // namespace kawara::explain
