#pragma once

#include <string>

#include "server/options/config.hpp"

/// What each option has besides its value, and each table of the config files.
namespace millrace::server {

/// What SIGHUP does with it: takes from `wanted` what may change while the server runs. False: the
/// rest needs a restart. A reference, so that no row can leave it out.
using Reload = bool (&)(Config& running, const Config& wanted);

template <auto member>
bool takes_reload(Config& running, const Config& wanted) {
  running.*member = wanted.*member;
  return true;
}

template <auto member>
bool needs_restart(Config& running, const Config& wanted) {
  return running.*member == wanted.*member;
}

/// What is shown together on the Server page of the web UI and in the API, in this order.
enum class Section {
  kData,
  kLog,
  kSync,
  kPorts,
  kAccess,
  kWeb,
  kExposure,
  kSizes,
  kJobs,
  kMetrics,
  kProcess,
};

/// How it is shown there. No secrets.
struct Shown {
  using Text = std::string (*)(const Config&);
  constexpr Shown(Section in, Text by, const char* as = nullptr)
      : section(in), text(by), name(as) {}

  Section section;
  Text text;         ///< null: it is not shown
  const char* name;  ///< null: as that of the option
};

constexpr Shown not_shown(const char* /*why*/) {
  return {Section::kData, nullptr};
}

}  // namespace millrace::server
