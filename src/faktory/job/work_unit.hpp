#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/job.hpp"
#include "core/ports/work_unit.hpp"
#include "faktory/job/job_reader.hpp"

namespace millrace::faktory {

/// Shows a pushed job as it was sent, from its stored form. A job that was put is shown as the work
/// unit in its body; if there is none, as one whose only argument is the body. The object has no
/// state but buffers. Only one thread at a time may use it.
class WorkUnits final : public WorkUnitFormat {
 public:
  [[nodiscard]] Identity identify(const Job& job) const override;
  [[nodiscard]] std::uint32_t name_hash(std::string_view body) const override;
  [[nodiscard]] std::uint32_t name_hash_of_put(JobId id, std::string_view body) const override;
  [[nodiscard]] std::uint32_t hash_of_name(std::string_view jid) const override;
  [[nodiscard]] std::string_view type_part(const Job& job) const override;
  [[nodiscard]] Type read_type(std::string_view part) const override;
  [[nodiscard]] std::string_view name_part(const Job& job) const override;
  [[nodiscard]] Name read_name(std::string_view part) const override;
  [[nodiscard]] bool is_same(const Job& job, std::string_view body) const override;
  [[nodiscard]] std::optional<KeyedHash> push_key(std::string_view body, const PushTarget& target,
                                                  const LockSecret& secret) const override;
  using WorkUnitFormat::summarize;
  [[nodiscard]] Summary summarize(const Job& job, std::size_t args_bytes_max) const override;
  void render(const Job& job, std::string_view queue, WallClock clock,
              std::string& out) const override;
  [[nodiscard]] std::optional<LongText> render_long(const Job& job, std::string_view queue,
                                                    WallClock clock,
                                                    const TextOwner& body) const override;
  void render_whole(const Job& job, std::string_view queue, WallClock clock,
                    std::string& out) const override;
  [[nodiscard]] std::optional<LongText> render_whole_long(const Job& job, std::string_view queue,
                                                          WallClock clock,
                                                          const TextOwner& body) const override;

  /// The `retry_delays` of its `custom`, in seconds; empty: it has none. The body is in memory.
  [[nodiscard]] static std::vector<std::uint32_t> retry_delays(const Job& job);

 private:
  mutable JobReader reader_;
  mutable std::string name_;
};

}  // namespace millrace::faktory
