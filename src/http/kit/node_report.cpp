#include "http/kit/node_report.hpp"

#include "base/text.hpp"

namespace millrace::http {
namespace {

std::string text_in(const Json& members, const char* name) {
  const auto found = members.find(name);
  if (found == members.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

std::uint64_t number_in(const Json& members, const char* name) {
  const auto found = members.find(name);
  if (found == members.end() || !found->is_number_unsigned()) return 0;
  return found->get<std::uint64_t>();
}

}  // namespace

std::string encode(const NodeReport& report) {
  const Json members = {
      {"node", report.node},
      {"instance", report.instance},
      {"epoch", report.epoch},
      {"version", report.version},
      {"ports", report.ports},
      {"applied", report.applied},
      {"lag_seconds", report.lag_seconds ? Json(*report.lag_seconds) : Json(nullptr)},
      {"problem", cut(report.problem, kReportTextMax)},
      {"out_of_reach", report.out_of_reach}};
  constexpr bool kAscii = true;
  return members.dump(-1, ' ', kAscii, Json::error_handler_t::replace);
}

Outcome<NodeReport> decode_report(std::string_view text) {
  if (text.size() > kReportBytesMax) return Problem{"the report is too long"};
  const Json members = Json::parse(text, nullptr, false);
  if (!members.is_object()) return Problem{"the report is not a JSON object"};
  NodeReport report{.node = text_in(members, "node"),
                    .instance = number_in(members, "instance"),
                    .epoch = number_in(members, "epoch"),
                    .version = text_in(members, "version"),
                    .ports = text_in(members, "ports"),
                    .applied = number_in(members, "applied"),
                    .lag_seconds = {},
                    .problem = text_in(members, "problem"),
                    .out_of_reach = text_in(members, "out_of_reach")};
  for (const std::string* each :
       {&report.node, &report.version, &report.ports, &report.problem, &report.out_of_reach}) {
    if (each->size() > kReportTextMax) return Problem{"the report has a text that is too long"};
  }
  if (report.node.empty()) return Problem{"the report names no node"};
  const auto lag = members.find("lag_seconds");
  if (lag != members.end() && lag->is_number()) report.lag_seconds = lag->get<double>();
  return report;
}

}  // namespace millrace::http
