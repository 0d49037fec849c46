// One type of jobs: how its runs went, as numbers and as charts.
import { get, nameOf } from "../api.js";
import { h } from "../dom.js";
import { ago, count, none, rate, span } from "../format.js";
import {
  chartSection,
  lengthChart,
  loadSeries,
  speedChart,
  speedsOf,
} from "../parts/series.js";
import { link } from "../route.js";
import { STATES, facts, head } from "../ui.js";
import { findTopErrors, topErrors } from "./errors.js";
import { NOT_RUN, share } from "./types.js";

const LISTED = ["ready", "reserved", "scheduled", "retrying", "dead"];

function lists(type) {
  const states = LISTED.map((state) => [STATES[state].name, link("jobs", { state, type })]);
  const all = [...states, ["Completed", link("completed", { type })]];
  return all.map(([name, href], i) => [i > 0 && ", ", h("a", { href }, name.toLowerCase())]);
}

const within = (seconds) => (seconds === null ? none() : span(seconds));

function about(type, row) {
  return facts([
    ["Runs", [rate(row.processed_per_s), ", ", count(row.processed), " since the start"]],
    [
      "Failed",
      [rate(row.failed_per_s), ", ", count(row.failed), " since the start, ", share(row)],
    ],
    ["p50", within(row.run_p50_s)],
    ["p95", within(row.run_p95_s)],
    ["Last run", ago(row.last_at)],
    ["Jobs", lists(type)],
  ]);
}

function charts(params, type, series) {
  const id = `type ${type}`;
  const of = { type };
  return chartSection(
    params,
    series,
    series.is_recorded
      ? h(
          "div",
          { class: "pair" },
          speedChart(id, "Jobs per second", speedsOf(series), of),
          lengthChart(id, "Run time", series, "run", of),
        )
      : h(
          "p",
          { class: "empty" },
          type === "beanstalk"
            ? "Beanstalk jobs have no type, so their runs are not recorded here."
            : "No runs of this type have been recorded since the server started. Only the first " +
                "1,000 types are recorded.",
        ),
  );
}

export default {
  title: "Type",
  titleOf: ({ args: [name] }) => nameOf(name),
  async load({ args: [name], params }, signal) {
    const type = nameOf(name);
    const [found, series, errors] = await Promise.all([
      get("types", { type }, { signal }),
      loadSeries(params, { type }, signal),
      findTopErrors({ type }, signal),
    ]);
    return { row: found.types[0] ?? { type, ...NOT_RUN }, series, errors };
  },
  render({ params }, { row, series, errors }) {
    const { type } = row;
    return [
      h("p", { class: "crumbs" }, h("a", { href: link("types") }, "Types")),
      head([type]),
      about(type, row),
      charts(params, type, series),
      topErrors(errors, { type }),
    ];
  },
};
