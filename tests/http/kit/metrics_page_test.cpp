#include "http/kit/metrics_page.hpp"

#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("metrics page: a metric has its help, its kind and its samples") {
  MetricsPage page;
  page.single("a", "gauge", "Help.", 0.5);
  page.head("b", "counter", "More.");
  page.sample("b", "x=\"1\"", "2");
  CHECK(page.take() ==
        "# HELP a Help.\n# TYPE a gauge\na 0.5\n"
        "# HELP b More.\n# TYPE b counter\nb{x=\"1\"} 2\n");
}

TEST_CASE("metrics page: a label has nothing that a terminal obeys or nobody sees") {
  CHECK(metrics_label("a", "App\\Mail \"x\"") == R"(a="App\\Mail \"x\"")");
  CHECK(metrics_label("a", "\x1b[1m\n\x7f\u009b") == R"(a="\\x1b[1m\\n\\x7f\\x9b")");
  CHECK(metrics_label("a", "\u202e\u2066\u200f\u2028\u200b") ==
        R"(a="\\u{202e}\\u{2066}\\u{200f}\\u{2028}\\u{200b}")");
  CHECK(metrics_label("a", "gr\u00fc\u00dfe \xff") == "a=\"gr\u00fc\u00dfe \\\\xff\"");
}

TEST_CASE("metrics page: a bucket of a histogram counts all that is below its bound") {
  Histogram histogram;
  histogram.add(1ms);
  histogram.add(4ms);
  MetricsPage page;
  page.histogram("h", "", histogram);
  const std::string text = page.take();
  CHECK(
      text.find("h_bucket{le=\"0.001\"} 1\nh_bucket{le=\"0.002\"} 1\nh_bucket{le=\"0.005\"} 2\n") !=
      text.npos);
  CHECK(text.find("h_bucket{le=\"+Inf\"} 2\nh_sum 0.005\nh_count 2\n") != text.npos);
}

TEST_CASE("metrics page: quantiles of a histogram") {
  Histogram histogram;
  MetricsPage page;
  page.quantiles("h", "a=\"b\"", histogram);
  for (int i = 0; i < 96; ++i) histogram.add(1s);
  for (int i = 0; i < 4; ++i) histogram.add(2s);
  page.quantiles("h", "a=\"b\"", histogram);
  CHECK(page.take() ==
        "h{a=\"b\",quantile=\"0.5\"} 0.975\nh{a=\"b\",quantile=\"0.95\"} 0.975\n"
        "h{a=\"b\",quantile=\"0.99\"} 1.95\n");
}

}  // namespace millrace::http
