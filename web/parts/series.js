// The recent past of the server or of a queue, as charts.
import { get } from "../api.js";
import { chart } from "../chart.js";
import { h } from "../dom.js";
import { plural, rate, short, span } from "../format.js";
import { link, path, replace } from "../route.js";
import { section } from "../ui.js";

/** Spans that the server records: name, in words. */
const SPANS = [
  ["15m", "15 min"],
  ["1h", "1 h"],
  ["24h", "24 h"],
];

/** The span that the address asks for. */
export const spanOf = ({ span: wanted }) =>
  SPANS.some(([name]) => name === wanted) ? wanted : SPANS[0][0];

/** Links of which one is chosen; `all` are [value, text]. `usual` is not in the address. */
export const choices = (label, name, all, chosen, params, usual = all[0][0]) =>
  h(
    "div",
    { class: "choices", role: "group", "aria-label": label },
    all.map(([value, text]) =>
      h(
        "a",
        {
          href: link(path(), { ...params, [name]: value === usual ? "" : value }),
          "aria-current": value === chosen ? "true" : null,
          onclick: (event) => {
            event.preventDefault();
            replace(event.currentTarget.href);
          },
        },
        text,
      ),
    ),
  );

const spanChoice = (params) =>
  choices("Time that the charts show", "span", SPANS, spanOf(params), params);

export const loadSeries = (params, of, signal) =>
  get("series", { span: spanOf(params), ...of }, { signal });

/** A chart with its title; `name` differs for each thing that has charts. */
function one(name, title, times, lines, format) {
  const now = lines.map(({ label, values }) => {
    const value = values.at(-1) ?? null;
    return `${label.toLowerCase()} ${value === null ? "none" : format(value)}`;
  });
  return section(
    title,
    null,
    times.length === 0
      ? h("p", { class: "empty" }, "The first points appear in a few seconds.")
      : chart(`${name}/${title}`, {
          times,
          series: lines,
          format,
          summary: `${title}, ${plural(times.length, "point")}. At the end: ${now.join(", ")}.`,
        }),
  );
}

/** The ends of the intervals of a series, in seconds. */
function timesOf({ ends_at: end, interval_s: step, processed }) {
  const last = Date.parse(end) / 1000;
  return processed.map((_, i) => last - (processed.length - 1 - i) * step);
}

/** The charts of a page, and the choice of the time that they show. */
export const chartSection = (params, ...content) =>
  h(
    "section",
    { class: "charts" },
    h("div", { class: "head" }, h("h2", {}, "The last"), spanChoice(params)),
    content,
  );

/** `speeds` are {times, processed, failed, enqueued}: numbers per second. */
export const speedChart = (name, title, speeds) =>
  one(
    name,
    title,
    speeds.times,
    [
      { label: "Processed", color: "good", fill: true, values: speeds.processed },
      { label: "Failed", color: "bad", dash: true, values: speeds.failed },
      { label: "Enqueued", color: "ready", values: speeds.enqueued },
    ],
    rate,
  );

export function speedsOf(series) {
  const perSecond = (values) => values.map((each) => each / series.interval_s);
  const { processed, failed, enqueued } = series;
  return {
    times: timesOf(series),
    processed: perSecond(processed),
    failed: perSecond(failed),
    enqueued: perSecond(enqueued),
  };
}

export const readyChart = (name, series) =>
  one(
    name,
    "Ready jobs",
    timesOf(series),
    [{ label: "Ready", color: "ready", fill: true, values: series.ready }],
    (n) => (n < 10 ? String(n) : short(n)),
  );

/** How long jobs waited or ran: `what` is "wait" or "run". */
export const lengthChart = (name, title, series, what) =>
  one(
    name,
    title,
    timesOf(series),
    [
      { label: "95 % within", color: "retrying", dash: true, values: series[`${what}_p95_s`] },
      { label: "Half within", color: "scheduled", values: series[`${what}_p50_s`] },
    ],
    (seconds) => (seconds === 0 ? "0 s" : span(seconds)),
  );
