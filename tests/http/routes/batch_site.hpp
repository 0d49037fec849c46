#pragma once

#include <string>

#include "core/model/features/bid.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

/// A server with batches, whose members go to the queue `default`.
struct BatchSite : WebFixture {
  /// The path of a new open batch.
  std::string add(JobBatchId id, JobBatchId parent = 0, std::string_view description = "") {
    NewJobBatch batch{.id = id, .parent = parent, .description = description, .callbacks = {}};
    for (const BatchRole role : {BatchRole::kComplete, BatchRole::kSuccess}) {
      batch.callbacks.push_back({.role = static_cast<std::uint32_t>(role),
                                 .queue = "callbacks",
                                 .body = "x",
                                 .ttr_s = 1800});
    }
    REQUIRE(broker.batches().add(batch, now));
    return path_of(id);
  }
  static std::string path_of(JobBatchId id) { return "/api/v1/batches/" + format_bid(id); }

  void commit(JobBatchId id) { REQUIRE(broker.batches().commit(id, now)); }
  JobId push_member(JobBatchId id, const std::string& more = "",
                    const std::string& queue = "default") {
    return push("Member", queue, R"(,"custom":{"bid":")" + format_bid(id) + "\"}" + more);
  }
  /// A member that has ended without success.
  void lose_member(JobBatchId id) {
    const JobId member = push_member(id);
    REQUIRE(broker.admin().change(member, Mutation::Action::kDiscard, now));
  }
  JobId push_dead_member(JobBatchId id) {
    const JobId member = push_member(id);
    REQUIRE(broker.admin().change(member, Mutation::Action::kKill, now));
    return member;
  }
  /// The answer with everything that the batch waits for, as `members 2, commit 1`.
  std::string blocks(const std::string& path) {
    std::string said;
    const Json batch = read(path);
    for (const Json& each : batch["blocked_by"]) {
      if (!said.empty()) said += ", ";
      said += each["what"].get<std::string>() + " " + std::to_string(each["count"].get<int>());
    }
    return said;
  }
  [[nodiscard]] const JobBatchFields& fields(JobBatchId id) const {
    return broker.view().batches().find(id)->fields;
  }
};

}  // namespace millrace::http
