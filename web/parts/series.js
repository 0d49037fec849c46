// The recent past of the server, of a queue, a type or an error, as charts.
import { get, serverNow } from "../api.js";
import { chart } from "../chart.js";
import { h } from "../dom.js";
import { plural, rate, short, shownTime, span } from "../format.js";
import { go, link, params as inAddress, path, replace } from "../route.js";
import { notice, section } from "../ui.js";
import { fromChosenZone, inChosenZone, zoneAt } from "../zone.js";
import { ACTIONS } from "./actions.js";

/** Spans that the server records: name, in words. */
const SPANS = [
  ["15m", "15 min"],
  ["1h", "1 h"],
  ["8h", "8 h"],
  ["24h", "24 h"],
  ["7d", "7 d"],
  ["30d", "30 d"],
];

/** The span that the address asks for. */
export const spanOf = ({ span: wanted }) =>
  SPANS.some(([name]) => name === wanted) ? wanted : SPANS[0][0];

/** The time that the address asks for instead, in milliseconds since 1970; null: it does not. */
export function rangeOf({ from, to }) {
  const range = [Number(from), Number(to)];
  return range[0] > 0 && range[1] > range[0] ? range : null;
}

/** The parameters of the address that are not the charts'. */
export const withoutRange = ({ span: _, from: __, to: ___, ...rest }) => rest;

/** The same page with charts of that time. */
const linkTo = ([from, to]) =>
  link(path(), { ...withoutRange(inAddress()), from: Math.floor(from), to: Math.ceil(to) });

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
            replace(event.currentTarget.href + location.hash);
          },
        },
        text,
      ),
    ),
  );

const spanChoice = (params) =>
  choices(
    "Time that the charts show",
    "span",
    SPANS,
    rangeOf(params) ? null : spanOf(params),
    withoutRange(params),
    null,
  );

/** Twice the time, up to now. */
function zoomedOut([from, to]) {
  const end = Math.min(to + (to - from) / 2, serverNow());
  return [end - 2 * (to - from), end];
}

/** Two times in the chosen zone. They are left alone while somebody edits them. */
function rangeForm(range, { ends_at: end, interval_s: step, failed }) {
  const last = Date.parse(end);
  const shown = range ?? [last - Math.max(1, failed.length) * step * MS, last];
  const zone = zoneAt(new Date(shown[1]));
  const field = (name, title, ms) =>
    h(
      "label",
      {},
      `${title} (${zone}) `,
      h("input", {
        type: "datetime-local",
        name,
        step: "1",
        required: true,
        value: inChosenZone(new Date(ms)).join("T"),
      }),
    );
  const send = (event) => {
    event.preventDefault();
    const data = new FormData(event.target);
    const wanted = ["from", "to"].map((name) => fromChosenZone(data.get(name)));
    if (wanted[0] < wanted[1]) go(linkTo(wanted));
    else notice("The end must be later than the start.", "bad");
  };
  return h(
    "details",
    { class: "range", "data-live": `range ${range} ${zone}` },
    h("summary", {}, "Choose a time"),
    h(
      "form",
      { onsubmit: send },
      field("from", "From", shown[0]),
      field("to", "To", shown[1]),
      h("button", { type: "submit" }, "Show"),
    ),
  );
}

const CHANGES_MAX = 100;
const MARKS_LISTED = 5;

/** The series, with what people have changed meanwhile, and when the server was started. */
export async function loadSeries(params, of, signal) {
  const range = rangeOf(params);
  const within = range && { since_ms: range[0], until_ms: range[1] };
  const [series, { changes, next }] = await Promise.all([
    get("series", { ...(within ?? { span: spanOf(params) }), ...of }, { signal }),
    get("activity", { limit: CHANGES_MAX, refused: "0", ...within }, { signal }),
  ]);
  const begin = Date.parse(series.ends_at) - series.failed.length * series.interval_s * MS;
  const marks = changes
    .filter(({ at, action, target }) => {
      const isOfOther = of.queue && action.startsWith("queues/") && target !== of.queue;
      return Date.parse(at) >= begin && !isOfOther;
    })
    .map((change) => ({ at: Date.parse(change.at) / MS, text: nameOf(change) }));
  const isMore = next !== null && Date.parse(changes.at(-1).at) >= begin;
  return { ...series, marks, isMore };
}

const MS = 1000;
const within = (name, from, to) => ({
  [`${name}_since_ms`]: Math.round(from * MS),
  [`${name}_until_ms`]: Math.round(to * MS),
});

/**
 * Jobs that were done, or that failed, within a time in seconds. `of` are the filters besides;
 * jobs that were done before `since` are not kept.
 */
const doneJobs = (of, since) => (from, to) =>
  since && to * MS <= Date.parse(since)
    ? [{ text: "Completed jobs from this time are no longer kept", short: "not kept" }]
    : [
        {
          text: "Completed jobs",
          short: "jobs",
          href: link("completed", { ...of, outcome: "done", ...within("ended", from, to) }),
        },
      ];
const failedJobs = (of) => (from, to) =>
  ["retrying", "dead"].map((state) => ({
    text: `Failed jobs, ${state}`,
    short: state,
    href: link("jobs", { state, ...of, ...within("failed", from, to) }),
  }));
const readyJobs = (of) => () => [
  { text: "Jobs that are ready now", short: "jobs", href: link("jobs", { state: "ready", ...of }) },
];

/** "Pause queue mail" */
export function nameOf({ action, target }) {
  return [ACTIONS[action] ?? action, target].filter(Boolean).join(" ");
}

/** The changes that the charts mark, the latest ones in words. */
const marksOf = ({ marks, isMore }) =>
  marks.length > 0 &&
  h(
    "p",
    { class: "marks" },
    h(
      "a",
      { href: link("activity") },
      isMore ? `at least ${marks.length} changes` : plural(marks.length, "change"),
    ),
    ": ",
    marks
      .slice(0, MARKS_LISTED)
      .map(({ at, text }) => `${shownTime(at * MS)} ${text}`)
      .join(" · "),
    marks.length > MARKS_LISTED && " …",
  );

/** A chart with its title; `name` differs for each thing that has charts. */
function one(name, title, { times, step_s: step, marks }, lines, format, key = title) {
  const now = lines.map(({ label, values }) => {
    const value = values.at(-1) ?? null;
    return `${label.toLowerCase()} ${value === null ? "none" : format(value)}`;
  });
  return section(
    title,
    null,
    times.length === 0
      ? h(
          "p",
          { class: "empty" },
          rangeOf(inAddress())
            ? "Nothing was recorded then."
            : `The first point appears within ${span(step)}.`,
        )
      : chart(`${name}/${key}`, {
          times,
          marks,
          series: lines,
          format,
          step_s: step,
          zoom: (from, to) => go(linkTo([from * MS, to * MS])),
          summary: `${title}, ${plural(times.length, "point")}. At the end: ${now.join(", ")}.`,
        }),
  );
}

/** The ends of the intervals of a series, in seconds. */
export function timesOf({ ends_at: end, interval_s: step, failed }) {
  const last = Date.parse(end) / MS;
  return failed.map((_, i) => last - (failed.length - 1 - i) * step);
}

/** What `one` needs of a series. */
const timeline = (series) => ({
  times: timesOf(series),
  step_s: series.interval_s,
  marks: series.marks,
});

/** The charts of a page, the choice of the time that they show, and what was changed meanwhile. */
export function chartSection(params, series, ...content) {
  const range = rangeOf(params);
  return h(
    "section",
    // By its key it is found again where the page before it has changed.
    { class: "charts", "data-key": "charts" },
    h(
      "div",
      { class: "head" },
      range && h("h2", {}, range.map(shownTime).join(" to ")),
      range && h("a", { href: linkTo(zoomedOut(range)) }, "Zoom out"),
      range ? h("span", { class: "dim" }, "or the last") : h("h2", {}, "The last"),
      spanChoice(params),
      rangeForm(range, series),
    ),
    content,
    marksOf(series),
  );
}

/** `speeds` are as `speedsOf` makes them: numbers per second. Types have none enqueued. */
export const speedChart = (name, title, speeds, of = {}) =>
  one(
    name,
    title,
    speeds,
    [
      {
        label: "Processed",
        color: "good",
        fill: true,
        values: speeds.processed,
        counts: speeds.processed.map((n, i) => n - speeds.failed[i]),
        jobs: doneJobs(of, speeds.since),
      },
      { label: "Failed", color: "bad", dash: true, values: speeds.failed, jobs: failedJobs(of) },
      speeds.enqueued && { label: "Enqueued", color: "ready", values: speeds.enqueued },
    ].filter(Boolean),
    rate,
  );

export function speedsOf(series) {
  const speed = (each) => (each === null ? null : each / series.interval_s);
  const perSecond = (values) => values?.map(speed);
  const { processed, failed, enqueued } = series;
  return {
    ...timeline(series),
    since: series.finished_since,
    processed: perSecond(processed),
    failed: perSecond(failed),
    enqueued: perSecond(enqueued),
  };
}

const whole = (n) => (n < 10 ? String(n) : short(n));

export const readyChart = (name, series, of = {}) =>
  one(
    name,
    "Ready jobs",
    timeline(series),
    [{ label: "Ready", color: "ready", fill: true, values: series.ready, jobs: readyJobs(of) }],
    whole,
  );

/** How often a group of failures occurred. */
export const failuresChart = (name, series, of) =>
  one(
    name,
    `Failures per ${span(series.interval_s)}`,
    timeline(series),
    [{ label: "Failures", color: "bad", fill: true, values: series.failed, jobs: failedJobs(of) }],
    whole,
    // The title differs from span to span; the chart on the screen is the same.
    "Failures",
  );

/** How long jobs waited or ran: `what` is "wait" or "run". */
export function lengthChart(name, title, series, what, of = {}) {
  const jobs = what === "run" ? doneJobs(of, series.finished_since) : null;
  const [of50, of95] = [series[`${what}_p50_s`], series[`${what}_p95_s`]];
  return one(
    name,
    title,
    timeline(series),
    [
      { label: "p95", color: "retrying", dash: true, values: of95, jobs },
      { label: "p50", color: "scheduled", values: of50, jobs },
    ],
    (seconds) => (seconds === 0 ? "0 s" : span(seconds)),
  );
}
