#include "server/cluster/node_reporter.hpp"

#include <asio/io_context.hpp>

#include "http/kit/node_report.hpp"

namespace millrace::server {
namespace {

std::string write_request(const Address& leader, const NodeReporter::Signed& signed_report) {
  return "POST " + std::string(http::kReportPath) + " HTTP/1.1\r\nHost: " + leader.text() + "\r\n" +
         http::kReportHeader + ": " + signed_report.report + "\r\n" + http::kSignatureHeader +
         ": " + signed_report.signature + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

}  // namespace

NodeReporter::~NodeReporter() {
  if (sending_) sending_->end();
}

void NodeReporter::work(const std::optional<Address>& leader, Time now,
                        const std::function<Signed()>& make) {
  if (now < next_) return;
  if (sending_ && leader != leader_) sending_->end();
  if (sending_ && !sending_->is_over()) return;
  if (const auto sent = std::exchange(sending_, nullptr)) {
    distrust_ = sent->distrust();
    if (!distrust_.empty()) distrust_ += "; see --ca";
  }
  if (leader != leader_ || is_out_of_reach_) {
    leader_ = leader;
    is_out_of_reach_ = false;
    distrust_.clear();
    lookup_.forget();
    next_ = now + kReportInterval;
    if (!leader_) return;
    lookup_.begin(*leader_);
  }
  if (!leader_ || lookup_.state() == NameLookup::State::kAsking) return;
  const bool is_found = lookup_.state() == NameLookup::State::kFound;
  is_out_of_reach_ = !is_found || !may_reach_(lookup_.name());
  if (is_out_of_reach_) return;
  next_ = now + kReportInterval;
  Signed report = make();
  // Shared with its handlers, which may run after its end.
  sending_ = std::make_shared<HttpPost>(
      poller_.context(), HttpPost::Options{.host = leader_->host,
                                           .tls = std::move(report.tls),
                                           .request = write_request(*leader_, report),
                                           .time_max = kReportMax});
  sending_->begin(lookup_.name());
}

}  // namespace millrace::server
