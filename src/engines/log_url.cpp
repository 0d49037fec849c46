#include "engines/log_url.hpp"

#include <algorithm>
#include <string_view>

namespace millrace::engines {
namespace {

constexpr std::string_view kTable = "millrace_log=";

bool is_table_name(std::string_view name) {
  return std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

/// `?millrace_log=jobs2` where such a parameter is there.
std::string shown_table(std::string_view parameters) {
  std::string shown;
  while (!parameters.empty()) {
    const std::size_t end = std::min(parameters.find('&'), parameters.size());
    const std::string_view each = parameters.substr(0, end);
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
    if (!each.starts_with(kTable) || !is_table_name(each.substr(kTable.size()))) continue;
    shown = "?" + std::string(each);
  }
  return shown;
}

}  // namespace

/// A password may itself contain `@`, `/` or `?`. Where it cannot be told from the rest, the hosts
/// are not shown either.
std::string shown_url(const std::string& url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end == std::string::npos) return "(not a URL)";
  const std::size_t begin = scheme_end + 3;
  const std::size_t at = url.rfind('@');
  const bool has_user = at != std::string::npos && at >= begin;
  if (has_user && url.find_first_of("?#", begin) < at) return url.substr(0, begin) + "...";
  const std::string rest = url.substr(has_user ? at + 1 : begin);
  const std::size_t end = rest.find_first_of("?#");
  const std::string shown = url.substr(0, begin) + rest.substr(0, end);
  if (end == std::string::npos || rest[end] == '#') return shown;
  return shown + shown_table(rest.substr(end + 1));
}

}  // namespace millrace::engines
