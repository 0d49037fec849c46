#include "dialogue.hpp"

#include <charconv>
#include <stdexcept>

namespace bench {
namespace {

constexpr std::string_view kEnd = "\r\n";

/// A body of the wished size that begins with the job's number.
std::string body_of(std::size_t job, std::size_t bytes) {
  std::string body = std::to_string(job);
  body.resize(std::max(bytes, body.size() + 1), ' ');
  return body;
}

std::size_t number_at(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void expect(std::string_view line, std::string_view beginning) {
  if (line.starts_with(beginning)) return;
  throw std::runtime_error("unexpected reply: " + std::string(line.substr(0, 200)));
}

/// The size of the first line with its end, 0 if it is not whole.
std::size_t line_size(std::string_view input) {
  const std::size_t end = input.find(kEnd);
  return end == std::string_view::npos ? 0 : end + kEnd.size();
}

class Beanstalk : public Dialogue {
 public:
  Beanstalk(const Plan& plan, std::size_t connection, Deliveries& deliveries)
      : plan_(plan),
        deliveries_(deliveries),
        tube_(plan.prefix + std::to_string(connection % plan.queues)) {}

  std::size_t greet(std::string& out) override {
    out += "use " + tube_ + "\r\nwatch " + tube_ + "\r\nignore default\r\n";
    return 3;
  }
  std::size_t answer_greeting(std::string_view input) override { return line_size(input); }

 protected:
  void put(std::string& out) {
    const std::string body = body_of(deliveries_.next(), plan_.body_bytes);
    out += "put 0 " + std::to_string(plan_.delay_seconds) + " 60 " + std::to_string(body.size()) +
           "\r\n" + body + "\r\n";
  }

  const Plan& plan_;
  Deliveries& deliveries_;
  std::string tube_;
};

class Put final : public Beanstalk {
 public:
  using Beanstalk::Beanstalk;
  void ask(std::string& out) override { put(out); }
  std::size_t answer(std::string_view input, bool& is_done) override {
    const std::size_t size = line_size(input);
    if (size != 0) expect(input, "INSERTED ");
    is_done = size != 0;
    return size;
  }
};

class PutCycle final : public Beanstalk {
 public:
  using Beanstalk::Beanstalk;

  void ask(std::string& out) override {
    if (step_ == 0) return put(out);
    out += step_ == 1 ? "reserve\r\n" : "delete " + id_ + "\r\n";
  }

  std::size_t answer(std::string_view input, bool& is_done) override {
    std::size_t size = line_size(input);
    if (size == 0) return 0;
    if (step_ == 0) expect(input, "INSERTED ");
    if (step_ == 1) size = take_job(input, size);
    if (step_ == 2) expect(input, "DELETED");
    if (size == 0) return 0;
    is_done = step_ == 2;
    step_ = (step_ + 1) % 3;
    return size;
  }

 private:
  std::size_t take_job(std::string_view input, std::size_t line) {
    expect(input, "RESERVED ");
    const std::size_t id_end = input.find(' ', 9);
    const std::size_t size = line + number_at(input.substr(id_end + 1)) + kEnd.size();
    if (input.size() < size) return 0;
    id_ = input.substr(9, id_end - 9);
    deliveries_.note(number_at(input.substr(line)));
    return size;
  }

  int step_ = 0;
  std::string id_;
};

class Faktory : public Dialogue {
 public:
  Faktory(const Plan& plan, std::size_t connection, Deliveries& deliveries)
      : plan_(plan),
        deliveries_(deliveries),
        queue_(plan.prefix + std::to_string(connection % plan.queues)),
        wid_("load-" + std::to_string(connection)) {}

  std::size_t greet(std::string& out) override {
    out +=
        R"(HELLO {"v":2,"wid":")" + wid_ + "\",\"pid\":1,\"hostname\":\"load\",\"labels\":[]}\r\n";
    return 2;
  }
  std::size_t answer_greeting(std::string_view input) override {
    const std::size_t size = line_size(input);
    if (size != 0) expect(input, "+");
    return size;
  }

 protected:
  void push(std::string& out) {
    const std::size_t job = deliveries_.next();
    out += R"(PUSH {"jid":"load-job-)" + std::to_string(job) +
           R"(","jobtype":"SomeJob","args":[")" + body_of(job, plan_.body_bytes) +
           R"("],"queue":")" + queue_ + '"';
    if (!plan_.at.empty()) out += R"(,"at":")" + plan_.at + '"';
    out += "}\r\n";
  }
  static std::size_t expect_ok(std::string_view input) {
    const std::size_t size = line_size(input);
    if (size != 0) expect(input, "+OK");
    return size;
  }

  const Plan& plan_;
  Deliveries& deliveries_;
  std::string queue_;
  std::string wid_;
};

class Push final : public Faktory {
 public:
  using Faktory::Faktory;
  void ask(std::string& out) override { push(out); }
  std::size_t answer(std::string_view input, bool& is_done) override {
    const std::size_t size = expect_ok(input);
    is_done = size != 0;
    return size;
  }
};

class PushCycle final : public Faktory {
 public:
  using Faktory::Faktory;

  void ask(std::string& out) override {
    if (step_ == 0) return push(out);
    out += step_ == 1 ? "FETCH " + queue_ + "\r\n" : "ACK {\"jid\":\"" + jid_ + "\"}\r\n";
  }

  std::size_t answer(std::string_view input, bool& is_done) override {
    const std::size_t size = step_ == 1 ? take_job(input) : expect_ok(input);
    if (size == 0) return 0;
    is_done = step_ == 2;
    // A FETCH that found nothing is said again.
    if (step_ != 1 || !jid_.empty()) step_ = (step_ + 1) % 3;
    return size;
  }

 private:
  std::size_t take_job(std::string_view input) {
    const std::size_t line = line_size(input);
    if (line == 0) return 0;
    jid_.clear();
    if (input.starts_with("$-1")) return line;
    expect(input, "$");
    const std::size_t size = line + number_at(input.substr(1)) + kEnd.size();
    if (input.size() < size) return 0;
    constexpr std::string_view kMember = "\"jid\":\"";
    const std::size_t begin = input.find(kMember) + kMember.size();
    jid_ = input.substr(begin, input.find('"', begin) - begin);
    deliveries_.note(
        number_at(std::string_view(jid_).substr(std::string_view("load-job-").size())));
    return size;
  }

  int step_ = 0;
  std::string jid_;
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

std::unique_ptr<Dialogue> make_dialogue(const Plan& plan, std::size_t connection,
                                        Deliveries& deliveries) {
  if (plan.work == "put") return std::make_unique<Put>(plan, connection, deliveries);
  if (plan.work == "put-cycle") return std::make_unique<PutCycle>(plan, connection, deliveries);
  if (plan.work == "push") return std::make_unique<Push>(plan, connection, deliveries);
  if (plan.work == "push-cycle") return std::make_unique<PushCycle>(plan, connection, deliveries);
  return nullptr;
}

}  // namespace bench
