#include "server/statsd/statsd_report.hpp"

#include <cstring>
#include <type_traits>

namespace millrace::server {
namespace {

struct Head {
  Duration took;
  std::uint16_t queue_bytes;
  std::uint16_t jobtype_bytes;
  std::uint32_t unused;
};

constexpr std::size_t kNameBytesMax = UINT16_MAX;

}  // namespace

void StatsdRuns::add(Duration took, std::string_view queue, std::string_view jobtype) {
  queue = queue.substr(0, kNameBytesMax);
  jobtype = jobtype.substr(0, kNameBytesMax);
  if (text_.size() + sizeof(Head) + queue.size() + jobtype.size() > kStatsdRunBytesMax) {
    ++left_out_;
    return;
  }
  // Without bytes that nobody has set.
  static_assert(std::has_unique_object_representations_v<Head>);
  const Head head{.took = took,
                  .queue_bytes = static_cast<std::uint16_t>(queue.size()),
                  .jobtype_bytes = static_cast<std::uint16_t>(jobtype.size()),
                  .unused = 0};
  text_.append(reinterpret_cast<const char*>(&head), sizeof head);
  text_.append(queue).append(jobtype);
}

void StatsdRuns::each(const Visitor& visit) const {
  std::string_view rest = text_;
  while (!rest.empty()) {
    Head head;
    std::memcpy(&head, rest.data(), sizeof head);
    rest.remove_prefix(sizeof head);
    visit(head.took, rest.substr(0, head.queue_bytes),
          rest.substr(head.queue_bytes, head.jobtype_bytes));
    rest.remove_prefix(std::size_t{head.queue_bytes} + head.jobtype_bytes);
  }
}

}  // namespace millrace::server
