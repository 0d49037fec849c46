// [[cron]] in config files: any text is read or refused with a line, and the job of each entry is
// one that PUSH takes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "faktory/job/pushed_job.hpp"
#include "server/options/tables/cron_config.hpp"

namespace {

using namespace millrace;

void expect(bool is_true) {
  if (!is_true) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = server::ConfigDocument::parse("a.toml", text);
  if (!document) {
    expect(document.error().text.starts_with("a.toml:"));
    return 0;
  }
  const auto table = server::read_cron({&*document, 1});
  if (!table) {
    expect(table.error().text.starts_with("a.toml:"));
    return 0;
  }
  std::set<std::string> ids;
  for (const server::CronItem& item : table->items) {
    expect(!item.id.empty() && item.id.size() <= server::kCronNameBytesMax);
    expect(ids.insert(item.id).second);
    faktory::JobReader reader;
    const auto members = reader.read("{\"jid\":\"12345678\"," + item.job.substr(1));
    expect(members.has_value());
    expect(members.value().jobtype == item.jobtype && members.value().raw_args == item.args);
    std::string body;
    expect(faktory::make_pushed_job(*members, Time{}, WallClock{}, faktory::no_secret, body)
               .has_value());
  }
  return 0;
}
