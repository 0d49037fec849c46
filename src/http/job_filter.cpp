#include "http/job_filter.hpp"

#include <algorithm>

#include "http/text.hpp"

namespace millrace::http {
namespace {

/// One text member of the filter and its name in queries.
struct TextMember {
  const char* name;
  std::string JobFilter::*member;
};

constexpr TextMember kTextMembers[] = {{"queue", &JobFilter::queue}, {"type", &JobFilter::type},
                                       {"id", &JobFilter::id},       {"error", &JobFilter::error},
                                       {"group", &JobFilter::group}, {"text", &JobFilter::text},
                                       {"wid", &JobFilter::wid}};

struct NumberMember {
  const char* name;
  std::uint64_t JobFilter::*member;
};

constexpr NumberMember kNumberMembers[] = {{"client", &JobFilter::client},
                                           {"older_than_s", &JobFilter::older_than_s}};

Problem too_long(const std::string& name) {
  return Problem{name + " is longer than " + std::to_string(kFilterBytesMax) + " bytes"};
}

bool fails_as(const Job& job, const JobFilter& filter) {
  if (filter.error.empty() && filter.group.empty()) return true;
  const Failure* failure = job.failure();
  if (failure == nullptr) return false;
  if (!filter.group.empty() && failure_group(*failure) != filter.group) return false;
  return filter.error.empty() || contains_ignoring_case(failure->errtype, filter.error) ||
         contains_ignoring_case(failure->message, filter.error);
}

bool is_held_by(const Job& job, const JobFilter& filter) {
  if (filter.wid.empty() && filter.client == 0) return true;
  const Reservation* held = job.reservation();
  return held != nullptr && (filter.wid.empty() || held->wid == filter.wid) &&
         (filter.client == 0 || held->client == filter.client);
}

bool is_named(const Job& job, const JobFilter& filter, const WorkUnitFormat& format) {
  if (filter.type.empty() && filter.id.empty()) return true;
  if (!filter.id.empty() && std::to_string(job.id) == filter.id && filter.type.empty()) return true;
  // A jid is looked for among millions, so a pushed job is asked for nothing else.
  if (filter.type.empty() && job.kind == JobKind::kWorkUnit) {
    return format.identify(job).jid.starts_with(filter.id);
  }
  const WorkUnitFormat::Summary summary = format.summarize(job);
  std::string_view type = filter.type;
  const bool is_beginning = type.ends_with('*');
  if (is_beginning) type.remove_suffix(1);
  if (!filter.type.empty() &&
      !(is_beginning ? summary.jobtype.starts_with(type) : summary.jobtype == type)) {
    return false;
  }
  return filter.id.empty() || std::to_string(job.id) == filter.id ||
         summary.jid.starts_with(filter.id);
}

}  // namespace

Outcome<JobFilter> read_filter(const Request& request) {
  JobFilter filter;
  for (const auto& [name, member] : kTextMembers) {
    filter.*member = request.param(name);
    if ((filter.*member).size() > kFilterBytesMax) return too_long(name);
  }
  for (const auto& [name, member] : kNumberMembers) {
    const std::string_view text = request.param(name);
    const auto value =
        text.empty() ? std::optional<std::uint64_t>(0) : parse_number<std::uint64_t>(text);
    if (!value) return Problem{std::string(name) + " is not a number"};
    filter.*member = *value;
  }
  return filter;
}

Outcome<JobFilter> read_filter(const Json& object) {
  JobFilter filter;
  for (const auto& [name, member] : kTextMembers) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) continue;
    if (!found->is_string()) return Problem{std::string(name) + " is not a string"};
    filter.*member = found->get<std::string>();
    if ((filter.*member).size() > kFilterBytesMax) return too_long(name);
  }
  for (const auto& [name, member] : kNumberMembers) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) continue;
    if (!found->is_number_unsigned()) return Problem{std::string(name) + " is not a number"};
    filter.*member = found->get<std::uint64_t>();
  }
  return filter;
}

std::function<bool(const Job&, const Queue&)> make_matcher(const JobFilter& filter,
                                                           const WorkUnitFormat& format, Time now) {
  if (filter.is_empty()) return {};
  const auto age =
      std::chrono::seconds(std::min<std::uint64_t>(filter.older_than_s, std::uint64_t{1} << 32));
  const Time created_before = filter.older_than_s == 0 ? kNever : now - age;
  // The cheap ones first.
  return [filter, created_before, &format](const Job& job, const Queue& queue) {
    if (!filter.queue.empty() && queue.name != filter.queue) return false;
    if (job.created_at > created_before) return false;
    if (!is_held_by(job, filter) || !fails_as(job, filter)) return false;
    if (!filter.text.empty() && job.body_view().find(filter.text) == std::string_view::npos)
      return false;
    return is_named(job, filter, format);
  };
}

std::string normalized_message(std::string_view message) {
  constexpr std::size_t kHexWordBytesMin = 8;
  std::string out;
  std::size_t i = 0;
  while (i < message.size()) {
    std::size_t end = i;
    while (end < message.size() && is_hex_digit(message[end])) ++end;
    if (end - i >= kHexWordBytesMin) {
      out += '#';
      i = end;
    } else if (is_digit(message[i])) {
      out += '#';
      while (i < message.size() && is_digit(message[i])) ++i;
    } else {
      out += message[i++];
    }
  }
  return out;
}

std::string failure_group(const Failure& failure) {
  constexpr std::uint64_t kOffset = 14695981039346656037u;
  constexpr std::uint64_t kPrime = 1099511628211u;
  std::uint64_t hash = kOffset;  // FNV-1a: the same in every process, as deep links need it
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
    hash = (hash ^ 0xFF) * kPrime;
  };
  add(failure.errtype);
  add(normalized_message(failure.message));
  return hex(hash);
}

}  // namespace millrace::http
