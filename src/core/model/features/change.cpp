#include "core/model/features/change.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace millrace {

void Change::shorten() {
  struct Limit {
    std::string& text;
    std::size_t bytes_max;
  };
  // What is not text: the tag, the number, the time, the outcome, the count, and nine lengths, of
  // which the last three may have two bytes.
  constexpr std::size_t kOtherBytesMax = 1 + 9 + 10 + 1 + 10 + 6 + 3 * 2;
  std::size_t left = kChangeBytesMax - kOtherBytesMax;
  // Names of queues are the longest targets.
  for (const Limit& each :
       {Limit{protocol, 16}, Limit{how, 16}, Limit{from, 100}, Limit{user, 90}, Limit{client, 60},
        Limit{action, 40}, Limit{target, 200}, Limit{details, 250}}) {
    each.text.resize(cut(each.text, each.bytes_max).size());
    left -= each.text.size();
  }
  // The page has what the others leave: it is the client's word, and matters least.
  page.resize(cut(page, std::min(left, kChangeTextBytesMax)).size());
}

std::string shown_peer(std::string_view peer) {
  constexpr std::size_t kV4Bytes = 4;
  constexpr std::size_t kNetworkBytes = 8;
  std::string text;
  if (peer.size() == kNetworkBytes) {
    for (std::size_t at = 0; at < peer.size(); at += 2) {
      text += hex_of(peer.substr(at, 2)) + ':';
    }
    return text + ":/64";
  }
  if (peer.size() != kV4Bytes) return std::string(peer);
  for (const char byte : peer) {
    text += (text.empty() ? "" : ".") + std::to_string(static_cast<unsigned char>(byte));
  }
  return text;
}

}  // namespace millrace
