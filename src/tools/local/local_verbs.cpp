#include "tools/local/local_verbs.hpp"

#include <array>

namespace millrace::tools {
namespace {

struct LocalVerb {
  std::string_view name;
  cli::Verb run;
};

constexpr std::array kLocalVerbs = {LocalVerb{"dev", serve_for_development},
                                    LocalVerb{"doctor", look_for_trouble},
                                    LocalVerb{"bench", measure_machine}};

}  // namespace

cli::Verb find_local_verb(std::string_view name) {
  for (const LocalVerb& verb : kLocalVerbs) {
    if (verb.name == name) return verb.run;
  }
  return nullptr;
}

}  // namespace millrace::tools
