#include "dialogue.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace bench {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

std::size_t number_at(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

constexpr std::array<std::string_view, 4> kWorks = {"put", "put-cycle", "push", "push-cycle"};

bool is_push(std::string_view work) {
  return work.starts_with("push");
}

const std::string& work_of(const Plan& plan, std::size_t connection) {
  return plan.works[connection % plan.works.size()];
}

/// The text between the first `before` and the `after` that follows it.
std::string_view between(std::string_view text, std::string_view before, char after) {
  const std::size_t found = text.find(before);
  if (found == std::string_view::npos) return {};
  text.remove_prefix(found + before.size());
  return text.substr(0, text.find(after));
}

/// The size of the first line with its end, 0 if it is not whole.
std::size_t line_size(std::string_view input) {
  const std::size_t end = input.find(kLineEnd);
  return end == std::string_view::npos ? 0 : end + kLineEnd.size();
}

/// Takes a line that must begin so.
std::size_t take_line(std::string_view input, std::string_view beginning) {
  const std::size_t size = line_size(input);
  if (size == 0 || input.starts_with(beginning)) return size;
  const std::string line(input.substr(0, size - kLineEnd.size()));
  throw std::runtime_error("unexpected reply: " + line.substr(0, 200));
}

/// The steps of both protocols: a bundle puts its jobs; a cycle then takes as many, and ends those.
class Steps : public Dialogue {
 public:
  Steps(const Plan& plan, std::size_t connection, Deliveries& deliveries)
      : plan_(plan),
        deliveries_(deliveries),
        queue_(plan.prefix + std::to_string(connection / plan.works.size() % plan.queues)),
        is_cycle_(work_of(plan, connection).ends_with("cycle")) {}

  void begin(std::size_t operations, std::string& out) override {
    step_ = Step::kPut;
    missing_ = operations;
    taken_.clear();
    for (std::size_t i = 0; i < operations; ++i) put(out);
  }

  std::size_t answer(std::string_view input) override {
    switch (step_) {
      case Step::kPut:
        return answer_put(input);
      case Step::kTake:
        return answer_take(input);
      case Step::kEnd:
        return answer_end(input);
    }
    return 0;
  }

  void drain(std::string& out) override {
    is_draining_ = true;
    step_ = Step::kTake;
    taken_.clear();
    take_now(out);
  }

  std::size_t go_on(std::string& out) override {
    if (is_draining_) return go_on_draining(out);
    if (!is_cycle_ || step_ == Step::kEnd) return 0;
    // All of the bundle, or those whose FETCH found nothing.
    const std::size_t missing = missing_ - taken_.size();
    if (missing == 0) return end_taken(out);
    step_ = Step::kTake;
    for (std::size_t i = 0; i < missing; ++i) take(out);
    return missing;
  }

 protected:
  virtual void put(std::string& out) = 0;
  virtual std::size_t answer_put(std::string_view input) = 0;
  virtual void take(std::string& out) = 0;
  virtual std::size_t answer_take(std::string_view input) = 0;
  virtual void end(const std::string& id, std::string& out) = 0;
  virtual std::size_t answer_end(std::string_view input) = 0;
  virtual void take_now(std::string& out) = 0;  ///< without waiting long; may find nothing

  /// The beginning is the job's number.
  [[nodiscard]] std::string body_of(std::size_t job) const {
    std::string body = std::to_string(job);
    body.resize(std::max(plan_.body_bytes[job % plan_.body_bytes.size()], body.size() + 1), ' ');
    return body;
  }

  void note_taken(std::string_view id, std::string_view body) {
    const std::size_t job = number_at(body);
    deliveries_.note(job);
    if (body != body_of(job)) throw std::runtime_error("another body: " + std::string(body));
    taken_.emplace_back(id);
  }

  const Plan& plan_;
  Deliveries& deliveries_;
  const std::string queue_;

 private:
  enum class Step { kPut, kTake, kEnd };

  std::size_t end_taken(std::string& out) {
    step_ = Step::kEnd;
    for (const std::string& id : taken_) end(id, out);
    return taken_.size();
  }

  std::size_t go_on_draining(std::string& out) {
    if (step_ == Step::kTake) return end_taken(out);
    drain(out);
    return 1;
  }

  const bool is_cycle_;
  bool is_draining_ = false;
  Step step_ = Step::kPut;
  std::size_t missing_ = 0;         ///< of the bundle, before any is taken
  std::vector<std::string> taken_;  ///< the server's names for the jobs
};

class Beanstalk final : public Steps {
 public:
  using Steps::Steps;

  std::size_t greet(std::string& out) override {
    out += "use " + queue_ + "\r\nwatch " + queue_ + "\r\nignore default\r\n";
    return 3;
  }
  std::size_t answer_greeting(std::string_view input) override {
    const std::size_t size = take_line(input, is_using_ ? "WATCHING " : "USING " + queue_ + "\r\n");
    if (size != 0) is_using_ = true;
    return size;
  }

 private:
  void put(std::string& out) override {
    const std::string body = body_of(deliveries_.next());
    deliveries_.note_payload(body.size());
    out += "put 0 " + std::to_string(plan_.delay_seconds) + " 60 " + std::to_string(body.size()) +
           "\r\n" + body + "\r\n";
  }
  std::size_t answer_put(std::string_view input) override { return take_line(input, "INSERTED "); }

  void take(std::string& out) override { out += "reserve\r\n"; }
  std::size_t answer_take(std::string_view input) override {
    if (input.starts_with("TIMED_OUT")) return line_size(input);
    const std::size_t line = take_line(input, "RESERVED ");
    if (line == 0) return 0;
    const std::size_t id_end = input.find(' ', 9);
    const std::size_t size = line + number_at(input.substr(id_end + 1)) + kLineEnd.size();
    if (input.size() < size) return 0;
    note_taken(input.substr(9, id_end - 9), input.substr(line, size - line - kLineEnd.size()));
    return size;
  }

  void end(const std::string& id, std::string& out) override { out += "delete " + id + "\r\n"; }
  std::size_t answer_end(std::string_view input) override { return take_line(input, "DELETED"); }

  void take_now(std::string& out) override { out += "reserve-with-timeout 0\r\n"; }

  bool is_using_ = false;  ///< the answer to `use` has come; those to `watch` and `ignore` follow
};

class Faktory final : public Steps {
 public:
  Faktory(const Plan& plan, std::size_t connection, Deliveries& deliveries)
      : Steps(plan, connection, deliveries), wid_("load-" + std::to_string(connection)) {}

  std::size_t greet(std::string& out) override {
    out +=
        R"(HELLO {"v":2,"wid":")" + wid_ + "\",\"pid\":1,\"hostname\":\"load\",\"labels\":[]}\r\n";
    return 2;
  }
  std::size_t answer_greeting(std::string_view input) override { return take_line(input, "+"); }

 private:
  void put(std::string& out) override {
    const std::size_t job = deliveries_.next();
    out += "PUSH ";
    const std::size_t begin = out.size();
    out += R"({"jid":"load-job-)" + std::to_string(job) + R"(","jobtype":"SomeJob","args":[")" +
           body_of(job) + R"("],"queue":")" + queue_ + '"';
    if (!plan_.at.empty()) out += R"(,"at":")" + plan_.at + '"';
    out += '}';
    deliveries_.note_payload(out.size() - begin);
    out += kLineEnd;
  }
  std::size_t answer_put(std::string_view input) override { return take_line(input, "+OK"); }

  void take(std::string& out) override { out += "FETCH " + queue_ + "\r\n"; }
  std::size_t answer_take(std::string_view input) override {
    const std::size_t line = take_line(input, "$");
    if (line == 0 || input.starts_with("$-1")) return line;
    const std::size_t size = line + number_at(input.substr(1)) + kLineEnd.size();
    if (input.size() < size) return 0;
    const std::string_view job = input.substr(line, size - line);
    note_taken(between(job, "\"jid\":\"", '"'), between(job, "\"args\":[\"", '"'));
    return size;
  }

  void end(const std::string& id, std::string& out) override {
    out += R"(ACK {"jid":")" + id + "\"}\r\n";
  }
  std::size_t answer_end(std::string_view input) override { return take_line(input, "+OK"); }

  void take_now(std::string& out) override { take(out); }

  const std::string wid_;
};

}  // namespace

Deliveries::Deliveries(const Plan& plan) {
  seen_.reserve(plan.operations + plan.connections);
}

void Deliveries::note(std::size_t job) {
  if (job >= next_) throw std::runtime_error("a job that was never put: is the server empty?");
  if (job >= seen_.size()) seen_.resize(next_);
  if (seen_[job]) throw std::runtime_error("job " + std::to_string(job) + " came twice");
  seen_[job] = true;
  ++came_;
}

void check(const Plan& plan) {
  const auto refuse = [](const std::string& why) { throw std::invalid_argument(why); };
  for (const std::string& work : plan.works) {
    if (std::ranges::find(kWorks, work) == kWorks.end()) refuse("no such work: " + work);
  }
  const bool is_pushing = std::ranges::any_of(plan.works, is_push);
  if (is_pushing && !std::ranges::all_of(plan.works, is_push)) refuse("works of both protocols");
  if (is_pushing && plan.delay_seconds != 0) refuse("a delay is of put");
  if (!is_pushing && !plan.at.empty()) refuse("a time is of push");
  const bool is_later = plan.delay_seconds != 0 || !plan.at.empty();
  if (plan.is_draining && is_later) refuse("jobs that are not due yet cannot be drained");
  if (plan.queues > std::max<std::size_t>(1, plan.connections / plan.works.size())) {
    refuse("not every queue gets a connection for each work");
  }
}

std::unique_ptr<Dialogue> make_dialogue(const Plan& plan, std::size_t connection,
                                        Deliveries& deliveries) {
  if (is_push(work_of(plan, connection))) {
    return std::make_unique<Faktory>(plan, connection, deliveries);
  }
  return std::make_unique<Beanstalk>(plan, connection, deliveries);
}

}  // namespace bench
