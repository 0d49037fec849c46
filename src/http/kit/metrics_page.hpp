#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/model/meter.hpp"

namespace millrace::http {

/// Writes Prometheus' text format 0.0.4.
///
///     metric = "# HELP " name " " text LF "# TYPE " name " " kind LF *sample
///     sample = name [ "{" label *( "," label ) "}" ] " " number LF
class MetricsPage {
 public:
  /// Begins a metric; its samples follow. `kind`: gauge, counter or histogram.
  void head(const char* name, const char* kind, const char* help);

  /// `labels` are written already, with commas between them; empty: none.
  void sample(const char* name, const std::string& labels, const std::string& value);

  /// A metric with one sample.
  void single(const char* name, const char* kind, const char* help, double value);

  /// The samples of a histogram, in seconds.
  void histogram(const char* name, const std::string& labels, const Histogram& histogram);
  /// A sample for each of some parts. Nothing if the histogram has no durations.
  void quantiles(const char* name, const std::string& labels, const Histogram& histogram);

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// A label, as `type="Mail"`. What is too long is cut, and what is not UTF-8 is escaped.
[[nodiscard]] std::string metrics_label(const char* name, std::string_view value);

/// A sample's value.
[[nodiscard]] std::string number(double value);

}  // namespace millrace::http
