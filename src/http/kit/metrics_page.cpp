#include "http/kit/metrics_page.hpp"

#include <cstdint>
#include <cstdio>

#include "base/text.hpp"
#include "http/kit/text.hpp"

namespace millrace::http {

std::string metrics_label(const char* name, std::string_view value) {
  std::string text;
  for (const char c : harmless(cut(value, 1024))) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return concat(name, "=\"", text, "\"");
}

std::string number(double value) {
  char text[40];
  // Nine digits: sums and rates need no more, and pages stay short.
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void MetricsPage::head(const char* name, const char* kind, const char* help) {
  text_ += concat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n");
}

void MetricsPage::sample(const char* name, const std::string& labels, const std::string& value) {
  text_ += name;
  if (!labels.empty()) text_ += concat("{", labels, "}");
  text_ += concat(" ", value, "\n");
}

void MetricsPage::single(const char* name, const char* kind, const char* help, double value) {
  head(name, kind, help);
  sample(name, "", number(value));
}

void MetricsPage::histogram(const char* name, const std::string& labels,
                            const Histogram& histogram) {
  const std::string comma = labels.empty() ? "" : ",";
  const std::string bucket = concat(name, "_bucket");
  // Buckets of Prometheus count everything up to their bound, ours only what is between two.
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) {
    below += histogram.count_in(i);
    if (!Histogram::is_round(i)) continue;
    sample(bucket.c_str(),
           concat(labels, comma, "le=\"", number(seconds_of(Histogram::kBounds[i])), "\""),
           concat(below));
  }
  sample(bucket.c_str(), concat(labels, comma, "le=\"+Inf\""), concat(histogram.count()));
  sample(concat(name, "_sum").c_str(), labels, number(seconds_of(histogram.sum())));
  sample(concat(name, "_count").c_str(), labels, concat(histogram.count()));
}

void MetricsPage::quantiles(const char* name, const std::string& labels,
                            const Histogram& histogram) {
  const std::string comma = labels.empty() ? "" : ",";
  for (const double part : {0.5, 0.95, 0.99}) {
    const std::optional<Duration> length = histogram.quantile(part);
    if (!length) return;
    sample(name, concat(labels, comma, "quantile=\"", number(part), "\""),
           number(seconds_of(*length)));
  }
}

}  // namespace millrace::http
