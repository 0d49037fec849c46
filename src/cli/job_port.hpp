#pragma once

#include "cli/choice.hpp"
#include "cli/exit.hpp"
#include "client/beanstalk.hpp"

/// The beanstalk port, for verbs that speak its protocol.
namespace millrace::cli {

/// What happened there, as verbs tell it.
[[nodiscard]] inline Failure failure_of(const client::Failure& failure) {
  const Exit exit = failure.makes_no_sense ? Exit::kUsage
                    : failure.is_refusal   ? Exit::kRefused
                                           : Exit::kUnreachable;
  return {.exit = exit, .text = failure.text};
}

[[nodiscard]] inline client::Reply<client::Beanstalk> connect_to_job_port(const Choice& choice) {
  client::Target target = choice.job_port;
  if (!choice.has_job_port && target.host.empty()) {
    return client::Failure{.text =
                               "the URL does not tell where the beanstalk port is: name it "
                               "with --address or BEANSTALKD_URL",
                           .is_refusal = true,
                           .makes_no_sense = true};
  }
  target.ca_file = choice.ca_file;
  auto client = client::Beanstalk::connect(target);
  if (client || choice.has_job_port || client.error().is_refusal) return client;
  client::Failure failure = client.error();
  failure.text += "; --address names another port";
  return failure;
}

}  // namespace millrace::cli
