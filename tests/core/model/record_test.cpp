#include "base/text.hpp"
#include "core/model/codec.hpp"
#include "support/doctest.hpp"

namespace millrace {
namespace {

JobAdded whole_job() {
  JobAdded record{.id = 300, .queue = "mail", .body = "{}"};
  record.fields.kind = JobKind::kWorkUnit;
  record.fields.created_at = Time{1s};
  record.fields.ttr_s = 1800;
  record.fields.state = JobState::kReserved;
  record.fields.pri = 1024;
  record.fields.sequence = 301;
  record.fields.when = Time{2s};
  record.fields.enqueued_at = Time{-1ns};
  record.fields.delay_s = 4294967295;
  record.fields.edit_history().tallies = {
      .reserves = 1, .timeouts = 2, .releases = 3, .buries = 4, .kicks = 5};
  record.fields.edit_history().failure = Failure{.retry_count = 1,
                                                 .remaining = -1,
                                                 .failed_at = Time{3s},
                                                 .next_at = Time{4s},
                                                 .errtype = "Oops",
                                                 .message = "no\0pe",
                                                 .backtrace = {"a", ""}};
  record.fields.edit_history().reservation =
      Reservation{.client = 0, .wid = "w", .jid = "jid-1", .reserved_at = Time{5s}};
  return record;
}

/// The same with everything that a client can ask for besides.
JobAdded whole_job_with_features() {
  JobAdded record = whole_job();
  record.fields.features = JobFeatures{.lock_key = {.high = UINT64_MAX, .low = 1},
                                       .lock_ends = Time{6s},
                                       .expires_at = Time{7s},
                                       .batch = 8,
                                       .lock_seconds = 0.5F,
                                       .jid_hash = 0xabcdef,
                                       .is_tracked = 1,
                                       .locks_until_start = 1,
                                       .role = 3};
  record.fields.marks = job_marks::kAll;
  record.attempts = Attempts{.list = {{.number = 1,
                                       .began = Time{1s},
                                       .ended = Time{2s},
                                       .end = AttemptEnd::kWorkerLost,
                                       .wid = "w",
                                       .hostname = "h",
                                       .pid = -1,
                                       .connection = UINT64_MAX},
                                      {.number = UINT32_MAX,
                                       .has_failure = true,
                                       .errtype = "E",
                                       .message = "m",
                                       .backtrace = {"a", ""}}}};
  record.fields.edit_history().lock_ends = Time{9s};
  return record;
}

/// As the store keeps it.
Job job_of(const JobAdded& record) {
  Job job;
  static_cast<StoredJob&>(job) = record.fields;
  job.id = record.id;
  job.body = std::make_unique<char[]>(record.body.size());
  record.body.copy(job.body.get(), record.body.size());
  job.body_bytes = static_cast<std::uint32_t>(record.body.size());
  return job;
}

template <typename T>
T round_trip(const T& record) {
  static std::string bytes;  // the views of the result point into it
  bytes.clear();
  encode(record, bytes);
  std::string_view rest = bytes;
  Outcome<Record> read = decode(rest);
  REQUIRE(read);
  CHECK(rest.empty());
  return std::get<T>(*read);
}

}  // namespace

TEST_CASE("record: a whole job is read as it was written") {
  CHECK((round_trip(whole_job()) == whole_job()));
}

TEST_CASE("record: a job with all features is read as it was written") {
  const JobAdded whole = whole_job_with_features();
  CHECK((round_trip(whole) == whole));
  const JobChanged change{.id = 1, .fields = whole.fields};
  CHECK((round_trip(change) == change));
}

TEST_CASE("record: each feature is read as it was written, without the others") {
  for (int bit = 0; bit < 8; ++bit) {
    JobAdded record = whole_job();
    JobFeatures& features = record.fields.features.emplace();
    if (bit == 0) features.lock_key.low = 5;
    if (bit == 1) features.expires_at = Time{1s};
    if (bit == 2) features.batch = UINT64_MAX;
    if (bit == 3) features.jid_hash = 0xffffff;
    if (bit == 4) features.is_tracked = 1;
    if (bit == 5) features.locks_until_start = 1;
    if (bit == 6) features.role = 2;
    if (bit == 7) features.throttle_key = std::string(kThrottleKeyBytesMax, 'k');
    CHECK((round_trip(record) == record));
  }
}

TEST_CASE("record: a callback of a batch that has no known role is refused") {
  JobBatchAdded record{.id = 1, .sequence = 2, .callbacks = {{.role = 3, .queue = "q"}}};
  CHECK((round_trip(record) == record));
  record.callbacks.front().role = 4;
  std::string bytes;
  encode(record, bytes);
  std::string_view rest = bytes;
  CHECK_FALSE(decode(rest));
}

TEST_CASE("record: an attempt is read as it was written") {
  const AttemptEnded ended{.id = 9, .attempt = whole_job_with_features().attempts->list.back()};
  CHECK((round_trip(ended) == ended));
}

TEST_CASE("record: golden bytes of an attempt") {
  std::string bytes;
  encode(AttemptEnded{.id = 9,
                      .attempt = Attempt{.number = 300,
                                         .began = Time{1ns},
                                         .ended = Time{2ns},
                                         .end = AttemptEnd::kWorkerLost,
                                         .has_failure = true,
                                         .wid = "w",
                                         .hostname = "h",
                                         .pid = 2,
                                         .connection = 3,
                                         .errtype = "E",
                                         .message = "m",
                                         .backtrace = {"a"}}},
         bytes);
  using namespace std::string_literals;
  CHECK(hex_of(bytes) == hex_of("\x12\x09\xac\x02\x02\x04\x03\x01\x01w\x01h\x04\x03\x01"
                                "E\x01m\x01\x01"
                                "a"s));
}

TEST_CASE("record: an attempt that ended in an unknown way, or one too many, is refused") {
  std::string bytes;
  encode(AttemptEnded{.id = 9, .attempt = Attempt{.end = static_cast<AttemptEnd>(6)}}, bytes);
  std::string_view rest = bytes;
  CHECK_FALSE(decode(rest));
  JobAdded record = whole_job_with_features();
  record.attempts->list.resize(Attempts::kCountMax);
  CHECK((round_trip(record) == record));
  record.attempts->list.resize(Attempts::kCountMax + 1);
  bytes.clear();
  encode(record, bytes);
  rest = bytes;
  CHECK_FALSE(decode(rest));
}

TEST_CASE("record: marks that nobody knows are refused") {
  std::string bytes;
  JobChanged record{.id = 1, .fields = whole_job_with_features().fields};
  record.fields.marks = 0x80;
  encode(record, bytes);
  std::string_view rest = bytes;
  CHECK_FALSE(decode(rest));
}

TEST_CASE("record: a lock that lasts no number of seconds is refused") {
  for (const float seconds :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    JobAdded record = whole_job_with_features();
    record.fields.features->lock_seconds = seconds;
    std::string bytes;
    encode(record, bytes);
    std::string_view rest = bytes;
    CHECK_FALSE(decode(rest));
  }
}

TEST_CASE("record: a change is read as it was written") {
  const JobChanged record{.id = UINT64_MAX, .fields = whole_job().fields};
  CHECK((round_trip(record) == record));
}

TEST_CASE("record: a removal, a queue and counters are read as they were written") {
  CHECK((round_trip(JobRemoved{.id = 7}) == JobRemoved{.id = 7}));
  const QueueChanged queue{.name = "q", .is_kept = true, .paused_until = kNever, .pause_s = 9};
  CHECK((round_trip(queue) == queue));
  const CountersChanged counters{.next_id = 9,
                                 .processed = 8,
                                 .failed = 7,
                                 .day = -1,
                                 .processed_today = 6,
                                 .failed_today = 5};
  CHECK((round_trip(counters) == counters));
}

TEST_CASE("record: a history is read as it was written") {
  const HistoryChanged history{.days = {{.day = 20'000, .processed = 300, .failed = 2},
                                        {.day = 20'002, .processed = 1, .failed = 0}}};
  CHECK((round_trip(history) == history));
  CHECK((round_trip(HistoryChanged{}) == HistoryChanged{}));
}

TEST_CASE("record: what the clock showed is read as it was written") {
  CHECK((round_trip(ClockRead{.at = kNever}) == ClockRead{.at = kNever}));
  std::string bytes;
  encode(ClockRead{.at = Time{1ns}}, bytes);
  CHECK(hex_of(bytes) == "1302");
}

TEST_CASE("record: an ended push is read as it was written, and so is its removal") {
  const PushEnded ended{
      .key = {.high = 0x0123456789abcdef, .low = UINT64_MAX}, .job = 300, .ended_at = Time{1ns}};
  CHECK((round_trip(ended) == ended));
  CHECK((round_trip(PushForgotten{.key = ended.key}) == PushForgotten{.key = ended.key}));
  std::string bytes;
  encode(ended, bytes);
  CHECK(hex_of(bytes) == "14efcdab8967452301ffffffffffffffffac0202");
}

TEST_CASE("record: a finished job is read as it was written") {
  JobFinished finished{.number = JobFinished::kNumberMax,
                       .id = 300,
                       .kind = JobKind::kWorkUnit,
                       .how = JobEnd::kExpired,
                       .reserves = UINT32_MAX,
                       .client = UINT64_MAX,
                       .created_at = Time{1ns},
                       .enqueued_at = Time{2ns},
                       .began_at = Time{3ns},
                       .ended_at = kNever,
                       .queue = "queue",
                       .wid = "wid",
                       .name = "name",
                       .jid = "jid"};
  CHECK((round_trip(finished) == finished));
  const std::string longest(JobFinished::kNameBytesMax, 'n');
  finished.name = longest;
  CHECK((round_trip(finished) == finished));
  finished = {.number = 2, .id = 300, .ended_at = Time{1ns}, .queue = "q", .jid = "j"};
  std::string bytes;
  encode(finished, bytes);
  CHECK(hex_of(bytes) ==
        "1602ac0200020000000000020171000001"
        "6a");
  bytes.clear();
  finished.args = std::string("[1]");
  finished.attempts = Attempts{};
  CHECK((round_trip(finished) == finished));
  encode(finished, bytes);
  CHECK(hex_of(bytes) ==
        "1602ac0206020000000000020171000001"
        "6a00035b315d");
  finished.attempts.reset();
  finished.args = std::string(JobFinished::kArgsBytesMax, 'a');
  CHECK((round_trip(finished) == finished));
  *finished.args += 'a';
  bytes.clear();
  encode(finished, bytes);
  std::string_view rest = bytes;
  CHECK_FALSE(decode(rest));
}

TEST_CASE("record: a finished job without a number, or with one that is too high, is refused") {
  const auto is_read = [](JobFinished finished) {
    finished.queue = "q";
    std::string bytes;
    encode(finished, bytes);
    std::string_view rest = bytes;
    return decode(rest).has_value();
  };
  CHECK(is_read({.number = 1, .id = 1}));
  CHECK_FALSE(is_read({.number = 0, .id = 1}));
  CHECK_FALSE(is_read({.number = 1, .id = 0}));
  CHECK_FALSE(is_read({.number = JobFinished::kNumberMax + 1, .id = 1}));
  CHECK_FALSE(is_read({.number = 1, .id = 1, .how = JobEnd::kFlushed}));
}

TEST_CASE("record: the secret of locks is read as it was written") {
  const LockSecretDrawn record{.secret = {.low = 0x0123456789abcdef, .high = UINT64_MAX}};
  CHECK((round_trip(record) == record));
  std::string bytes;
  encode(record, bytes);
  CHECK(hex_of(bytes) == "11efcdab8967452301ffffffffffffffff");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string_view part = std::string_view(bytes).substr(0, size);
    CHECK_FALSE(decode(part));
  }
}

TEST_CASE("record: limits of a queue are read as they were written") {
  const ThrottleChanged throttle{.queue = "q",
                                 .is_by_hand = true,
                                 .limits = {.concurrency = 1,
                                            .worker = 2,
                                            .timeout_s = 3,
                                            .rate_count = 4,
                                            .rate_s = UINT32_MAX},
                                 .full_at = Time{5ns}};
  CHECK((round_trip(throttle) == throttle));
  CHECK((round_trip(ThrottleRemoved{.queue = "q"}) == ThrottleRemoved{.queue = "q"}));
}

TEST_CASE("record: a limit of keys is read as it was written, set by hand or not") {
  for (const bool is_by_hand : {true, false}) {
    const ThrottleChanged throttle{.queue = "q",
                                   .is_by_hand = is_by_hand,
                                   .limits = {.timeout_s = 60, .per_key = UINT32_MAX},
                                   .full_at = Time{5ns}};
    CHECK((round_trip(throttle) == throttle));
  }
}

TEST_CASE("record: golden bytes of a limit of keys, which older programs refuse") {
  std::string bytes;
  encode(ThrottleChanged{.queue = "q",
                         .is_by_hand = true,
                         .limits = {.timeout_s = 60, .per_key = 2},
                         .full_at = Time{}},
         bytes);
  using namespace std::string_literals;
  CHECK(hex_of(bytes) == hex_of("\x0e\x01q\x03\x00\x00\x3c\x00\x00\x00\x02"s));
  bytes[3] = 4;
  std::string_view rest = bytes;
  CHECK_FALSE(decode(rest));
}

TEST_CASE("record: a throttle_key that is too long is refused") {
  JobAdded record = whole_job();
  record.fields.features.emplace().throttle_key = std::string(kThrottleKeyBytesMax + 1, 'k');
  std::string bytes;
  encode(record, bytes);
  std::string_view rest = bytes;
  CHECK_FALSE(decode(rest));
}

TEST_CASE("record: golden bytes of the limits of a queue") {
  std::string bytes;
  encode(ThrottleChanged{.queue = "q",
                         .is_by_hand = true,
                         .limits = {.concurrency = 300, .timeout_s = 60},
                         .full_at = Time{1ns}},
         bytes);
  encode(ThrottleRemoved{.queue = "q"}, bytes);
  using namespace std::string_literals;
  CHECK(hex_of(bytes) == hex_of("\x0e\x01q\x01\xac\x02\x00\x3c\x00\x00\x02\x0f\x01q"s));
}

TEST_CASE("record: a track and its removal are read as they were written") {
  const TrackChanged track{.jid = "jid-1",
                           .desc = "half",
                           .updated_at = Time{5s},
                           .percent = 100,
                           .end = TrackEnd::kDead};
  CHECK((round_trip(track) == track));
  CHECK((round_trip(TrackChanged{}) == TrackChanged{}));
  CHECK((round_trip(TrackRemoved{.jid = "jid-1"}) == TrackRemoved{.jid = "jid-1"}));
}

TEST_CASE("record: a track of more than a hundred percent, or of an unknown end, is refused") {
  for (const TrackChanged& track :
       {TrackChanged{.percent = kNoPercent + 1}, TrackChanged{.end = static_cast<TrackEnd>(5)}}) {
    std::string bytes;
    encode(track, bytes);
    std::string_view rest = bytes;
    CHECK_FALSE(decode(rest));
  }
}

TEST_CASE("record: a history of too many days is refused") {
  std::string bytes;
  encode(HistoryChanged{.days = std::vector<DayCounts>(kHistoryDaysMax + 1)}, bytes);
  std::string_view rest = bytes;
  CHECK_FALSE(decode(rest));
}

TEST_CASE("record: a backtrace of the most lines is read, one line more is refused") {
  JobChanged record{.id = 1, .fields = whole_job().fields};
  record.fields.history->failure->backtrace.assign(kBacktraceLinesMax, "");
  CHECK((round_trip(record) == record));
  record.fields.history->failure->backtrace.emplace_back();
  std::string bytes;
  encode(record, bytes);
  std::string_view rest = bytes;
  CHECK_FALSE(decode(rest));
}

TEST_CASE("record: cron entries are read as they were written") {
  CronChanged entry{.id = "nightly",
                    .content = UINT64_MAX,
                    .planned = Time{1s},
                    .is_paused = true,
                    .gone_since = Time{2s},
                    .runs = {{.planned = Time{3s}, .at = Time{4s}, .job = 5, .jid = "jid"},
                             {.planned = Time{6s}, .problem = "no", .is_by_hand = true},
                             {.planned = Time{7s},
                              .job = 8,
                              .is_by_hand = true,
                              .end = {{JobEnd::kFailed, Time{9s}, Time{10s}}}}}};
  CHECK((round_trip(entry) == entry));
  CHECK((round_trip(CronRemoved{.id = "nightly"}) == CronRemoved{.id = "nightly"}));
  entry.runs.resize(kCronRunsMax);
  CHECK((round_trip(entry) == entry));
  entry.runs.emplace_back();
  std::string bytes;
  encode(entry, bytes);
  std::string_view rest = bytes;
  CHECK_FALSE(decode(rest));
}

TEST_CASE("record: golden bytes of a cron entry") {
  std::string bytes;
  encode(CronChanged{.id = "e",
                     .content = 300,
                     .planned = Time{1ns},
                     .runs = {{.planned = Time{1ns}, .at = Time{2ns}, .job = 3, .jid = "j"}}},
         bytes);
  CHECK(hex_of(bytes) ==
        "0c0165ac020200000102040301"
        "6a0000");
  bytes.clear();
  encode(CronChanged{.id = "e",
                     .runs = {{.job = 3,
                               .is_by_hand = true,
                               .end = {{JobEnd::kFailed, Time{1ns}, Time{2ns}}}}}},
         bytes);
  CHECK(hex_of(bytes) ==
        "0c0165000000000100000300"
        "0003010204");
  bytes.clear();
  encode(CronRemoved{.id = "e"}, bytes);
  CHECK(hex_of(bytes) == "0d0165");
}

TEST_CASE("record: golden bytes of what is said of an error") {
  const ErrorMarked marked{
      .group = 1,
      .mark = {.muted_until = Time{1ns}, .muted_below = 300, .note = "n", .noted_at = Time{2ns}}};
  CHECK((round_trip(ErrorMarked(marked)) == marked));
  CHECK((round_trip(ErrorUnmarked{.group = UINT64_MAX}) == ErrorUnmarked{.group = UINT64_MAX}));
  std::string bytes;
  encode(marked, bytes);
  CHECK(hex_of(bytes) == "17010000000000000002ac02016e04");
  bytes.clear();
  encode(ErrorUnmarked{.group = 1}, bytes);
  CHECK(hex_of(bytes) == "180100000000000000");
  bytes.clear();
  encode(ErrorMarked{.group = 1, .mark = {.note = std::string(kErrorNoteBytesMax + 1, 'n')}},
         bytes);
  std::string_view rest = bytes;
  CHECK_FALSE(decode(rest));
}

TEST_CASE("record: golden bytes of a saved view") {
  const ViewSaved saved{.name = "n", .query = "q"};
  CHECK((round_trip(ViewSaved(saved)) == saved));
  std::string bytes;
  encode(saved, bytes);
  CHECK(hex_of(bytes) == "1a016e0171");
  for (const auto& [name_bytes, query_bytes, is_read] :
       {std::tuple(64, 1000, true), std::tuple(65, 1000, false), std::tuple(64, 1001, false)}) {
    bytes.clear();
    encode(ViewSaved{.name = std::string(name_bytes, 'n'), .query = std::string(query_bytes, 'q')},
           bytes);
    std::string_view rest = bytes;
    CHECK(decode(rest).has_value() == is_read);
  }
}

TEST_CASE("record: golden bytes of a token") {
  const TokenAdded added{.token = Token{.hash = std::string(kTokenHashBytes, 'h'),
                                        .name = "n",
                                        .user = "u",
                                        .may = 0x0c,
                                        .queues = {"a", "b*"},
                                        .made_at = Time{1ns},
                                        .expires_at = Time{2ns}}};
  CHECK((round_trip(TokenAdded(added)) == added));
  std::string bytes;
  encode(added, bytes);
  const std::string hash = "20" + hex_of(added.token->hash);
  CHECK(hex_of(bytes) == "1c" + hash + "016e01750c02016102622a0204");
  bytes.clear();
  encode(TokenRemoved{.hash = added.token->hash}, bytes);
  CHECK(hex_of(bytes) == "1d" + hash);
}

TEST_CASE("record: a token beyond its limits is damage") {
  const Token good{.hash = std::string(kTokenHashBytes, 'h')};
  const auto is_read = [](const Token& token) {
    std::string bytes;
    encode(TokenAdded{.token = token}, bytes);
    std::string_view rest = bytes;
    return static_cast<bool>(decode(rest));
  };
  const auto with = [&](auto member, auto value) {
    Token token = good;
    token.*member = value;
    return token;
  };
  CHECK(is_read(good));
  CHECK(is_read(with(&Token::name, std::string(kTokenNameBytesMax, 'n'))));
  CHECK_FALSE(is_read(with(&Token::name, std::string(kTokenNameBytesMax + 1, 'n'))));
  CHECK_FALSE(is_read(with(&Token::hash, std::string(kTokenHashBytes - 1, 'h'))));
  CHECK_FALSE(is_read(with(&Token::hash, std::string(kTokenHashBytes + 1, 'h'))));
  CHECK(is_read(with(&Token::queues, std::vector<std::string>(kTokenQueuesMax, "q"))));
  CHECK_FALSE(is_read(with(&Token::queues, std::vector<std::string>(kTokenQueuesMax + 1, "q"))));
}

TEST_CASE("record: golden bytes of a change") {
  const ChangeNoted noted{.number = 300,
                          .change = Change{.at = Time{1ns},
                                           .protocol = "p",
                                           .from = "f",
                                           .user = "u",
                                           .how = "h",
                                           .client = "c",
                                           .action = "a",
                                           .target = "t",
                                           .details = "d",
                                           .page = "/",
                                           .outcome = ChangeOutcome::kCounted,
                                           .count = 2}};
  CHECK((round_trip(ChangeNoted(noted)) == noted));
  std::string bytes;
  encode(noted, bytes);
  CHECK(hex_of(bytes) ==
        "19ac0202"
        "017001660175016801630161017401640"
        "12f0102");
  for (const std::uint64_t number : {std::uint64_t{0}, ChangeNoted::kNumberMax + 1}) {
    bytes.clear();
    encode(ChangeNoted{.number = number, .change = Change{}}, bytes);
    std::string_view rest = bytes;
    CHECK_FALSE(decode(rest));
  }
}

TEST_CASE("record: the longest change has a limit, and its texts stay UTF-8") {
  const std::string text = "é" + std::string(5000, 'x') + "é";
  Change change{.at = kNever,
                .protocol = text,
                .from = text,
                .user = text,
                .how = text,
                .client = text,
                .action = text,
                .target = text,
                .details = std::string(141, 'x'),
                .page = text,
                .count = UINT64_MAX};
  change.shorten();
  CHECK(encoded_bytes(ChangeNoted{.number = ChangeNoted::kNumberMax, .change = change}) ==
        kChangeBytesMax);
  CHECK(change.target.size() == 200);
  Change other{.client = {}, .action = {}, .target = {}, .details = {}, .page = text};
  other.shorten();
  CHECK(other.page.size() == kChangeTextBytesMax);
}

TEST_CASE("record: golden bytes of a history") {
  std::string bytes;
  encode(HistoryChanged{.days = {{.day = 1, .processed = 300, .failed = 2}}}, bytes);
  CHECK((bytes == "\x06\x01\x02\xac\x02\x02"));
}

TEST_CASE("record: golden bytes of a put") {
  JobAdded record{.id = 1, .queue = "default", .body = "hi"};
  record.fields.created_at = Time{1ns};
  record.fields.ttr_s = 60;
  record.fields.state = JobState::kReady;
  record.fields.pri = 200;
  record.fields.sequence = 1;
  record.fields.enqueued_at = Time{1ns};
  std::string bytes;
  encode(record, bytes);
  using namespace std::string_literals;
  // Other bytes are another version of the format: docs/internals/journal-format.md, "Versions".
  CHECK(hex_of(bytes) == hex_of("\x01\x01\x00\x07"
                                "default\x02\x3c\x01\xc8\x01\x01\x00\x02\x00\x02hi"s));
}

TEST_CASE("record: golden bytes of a removal") {
  std::string bytes;
  encode(JobRemoved{.id = 300}, bytes);
  CHECK(hex_of(bytes) == hex_of("\x03\xac\x02"));
}

TEST_CASE("record: its length is counted as it is written") {
  for (const Record& record :
       {Record(whole_job()),
        Record(JobChanged{.id = 1, .fields = whole_job().fields}),
        Record(JobRemoved{.id = 300}),
        Record(QueueChanged{.name = "q", .paused_until = kNever}),
        Record(CountersChanged{.next_id = UINT64_MAX, .day = -1}),
        Record(HistoryChanged{.days = {{.day = 20'000, .processed = 300, .failed = 2}}}),
        Record(ThrottleChanged{.queue = "q", .limits = {.concurrency = 300}, .full_at = kNever}),
        Record(ThrottleRemoved{.queue = "q"}),
        Record(LockSecretDrawn{.secret = {.low = 1}}),
        Record(ClockRead{.at = Time{1s}}),
        Record(whole_job_with_features()),
        Record(PushEnded{.key = {.high = 1, .low = 2}, .job = 300, .ended_at = Time{1s}}),
        Record(PushForgotten{.key = {.high = 1, .low = 2}}),
        Record(JobFinished{.number = 300, .id = 1, .queue = "q", .wid = "wid", .name = "name"}),
        Record(JobFinished{.number = 1,
        .id = 1,
        .kind = JobKind::kWorkUnit,
        .attempts = Attempts{{Attempt{.number = 2, .message = "m"}}},
        .args = std::string("[1]")}),
        Record(AttemptEnded{.id = 1, .attempt = Attempt{.wid = "w"}}),
        Record(CronChanged{.id = "e", .runs = {{.jid = "jid"}}}),
        Record(CronRemoved{.id = "e"}),
        Record(ErrorMarked{.group = 1, .mark = {.muted_until = kNever, .note = "n"}}),
        Record(ErrorUnmarked{.group = 1}),
        Record(ChangeNoted{.number = 300, .change = Change{.action = "a", .count = 300}}),
        Record(ViewSaved{.name = "n", .query = "q"}),
        Record(TokenAdded{
            .token =
                Token{.hash = std::string(kTokenHashBytes, 'h'), .name = "n", .queues = {"*"}}}),
        Record(TokenRemoved{.hash = "h"})}) {
    std::string bytes;
    encode(record, bytes);
    CHECK(std::visit([](const auto& kind) { return encoded_bytes(kind); }, record) == bytes.size());
  }
}

TEST_CASE("record: a job in memory is written and counted as its record") {
  for (const JobAdded& record : {whole_job(), whole_job_with_features()}) {
    const Job job = job_of(record);
    std::string expected;
    encode(record, expected);
    std::string bytes;
    encode(job, record.queue, record.attempts.get(), bytes);
    CHECK((bytes == expected));
    CHECK(encoded_bytes(job, record.queue, record.attempts.get()) == bytes.size());
  }
}

TEST_CASE("record: a whole job that a connection holds is written as ready") {
  JobAdded record = whole_job();
  record.fields.history->reservation->client = 1;
  const JobAdded read = round_trip(record);
  CHECK(read.fields.state == JobState::kReady);
  CHECK(read.fields.when == Time{});
  CHECK(read.fields.reservation() == nullptr);
  CHECK((read.fields.tallies() == record.fields.tallies()));
  CHECK((*read.fields.failure() == *record.fields.failure()));
}

TEST_CASE("record: tallies that are all zero are read as none") {
  std::string_view bytes("\x02\x01\x09\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00", 13);
  const Outcome<Record> read = decode(bytes);
  REQUIRE(read);
  CHECK_FALSE(std::get<JobChanged>(*read).fields.history);
}

TEST_CASE("record: cut at any byte it is refused, and reads nothing beyond") {
  std::string bytes;
  encode(whole_job(), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    std::string_view rest = cut;
    CHECK_FALSE(decode(rest));
  }
}

TEST_CASE("record: an unknown kind is refused") {
  std::string_view bytes = "\x7f\x01";
  CHECK_FALSE(decode(bytes));
}

TEST_CASE("record: a reserved job without a holder is refused") {
  JobChanged record{.id = 1};
  record.fields.state = JobState::kReserved;
  std::string bytes;
  encode(record, bytes);
  std::string_view rest = bytes;
  CHECK_FALSE(decode(rest));
}

}  // namespace millrace
