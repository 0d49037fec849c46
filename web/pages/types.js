// How the jobs of each type run, wait and fail.
import { get, part } from "../api.js";
import { add } from "../breakdown.js";
import { h } from "../dom.js";
import { ago, count, none, plural, rateUnit, span } from "../format.js";
import { link, replace } from "../route.js";
import { button, empty, figure, head, jobsLink, sortLink, speed, table } from "../ui.js";

/** The states that are counted, one after the other. */
const COUNTED = ["ready", "scheduled", "retrying", "dead"];
/** At each update, jobs are counted for so long. */
const COUNT_MS = 400;
/** What took longer is counted again on request only. */
const LONG_JOBS = 200000;
const ROWS = 100;

const COLUMNS = [
  ["type", "Type", "wide"],
  ["processed", "Runs", "n"],
  ["failed", "Failures", "n"],
  ["share", "Failed", "n"],
  ["p50", "p50", "n"],
  ["p95", "p95", "n"],
  ["waiting", "Waiting", "n"],
  ["dead", "Dead", "n"],
  ["last", "Last run", "n"],
];

/** What a column is sorted by. */
const KEYS = {
  type: ({ type }) => type.toLowerCase(),
  processed: (row) => row.processed_per_s,
  failed: (row) => row.failed_per_s,
  share: (row) => (row.processed > 0 ? row.failed / row.processed : -1),
  p50: (row) => row.run_p50_s ?? -1,
  p95: (row) => row.run_p95_s ?? -1,
  waiting: (row) => row.waiting,
  dead: (row) => row.dead,
  last: (row) => row.last_at ?? "",
};

export const NOT_RUN = {
  processed: 0,
  failed: 0,
  processed_per_s: 0,
  failed_per_s: 0,
  run_p50_s: null,
  run_p95_s: null,
  last_at: null,
};

/** The walk that is under way, and the last one that came to its end. All views share them. */
const walks = { now: null, ended: null };
const newWalk = () => ({ place: 0, cursor: "", looked: 0, waiting: new Map(), dead: new Map() });
const isThrough = ({ place }) => place === COUNTED.length;

/** Goes on with the walk over all jobs, for as long as one update may take. */
async function goOn(walk, signal) {
  const end = performance.now() + COUNT_MS;
  while (!isThrough(walk) && performance.now() < end) {
    const state = COUNTED[walk.place];
    const query = { state, cursor: walk.cursor, breakdown: 1 };
    const slice = await get("jobs/count", query, { signal });
    add(state === "dead" ? walk.dead : walk.waiting, slice.types);
    walk.looked += slice.looked_at;
    walk.cursor = slice.next ?? "";
    if (!slice.next) walk.place += 1;
  }
}

const wantsWalk = ({ now }) => !now || (isThrough(now) && now.looked < LONG_JOBS);

async function load(_, signal) {
  if (wantsWalk(walks)) walks.now = newWalk();
  const [found] = await Promise.all([get("types", {}, { signal }), goOn(walks.now, signal)]);
  if (isThrough(walks.now)) walks.ended = walks.now;
  // A count that is under way is shown only while there is none before it.
  const { waiting, dead } = walks.ended ?? walks.now;
  const rows = new Map(found.types.map((row) => [row.type, row]));
  for (const type of [...waiting.keys(), ...dead.keys()])
    if (type && !rows.has(type)) rows.set(type, { type, ...NOT_RUN });
  return {
    ...found,
    isCounted: Boolean(walks.ended),
    types: [...rows.values()].map((row) => ({
      ...row,
      waiting: waiting.get(row.type) ?? 0,
      dead: dead.get(row.type) ?? 0,
    })),
  };
}

/** Without a choice the worst come first. */
const orderOf = ({ sort, order }) => (sort ? { sort, order } : { sort: "failed", order: "desc" });

function compare(params) {
  const { sort, order } = orderOf(params);
  const key = KEYS[sort] ?? KEYS.failed;
  const sign = order === "desc" ? -1 : 1;
  const less = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  // Among equals those that run the most come first.
  return (a, b) =>
    sign * less(key(a), key(b)) ||
    b.processed - a.processed ||
    less(KEYS.type(a), KEYS.type(b));
}

const seconds = (n) => figure(n === null ? none() : span(n));

/** "3 %" of the runs failed. */
export function share({ processed, failed }) {
  if (processed === 0) return none();
  const percent = (100 * failed) / processed;
  const words = failed > 0 && percent < 1 ? "< 1 %" : `${Math.round(percent)} %`;
  const title = `${count(failed)} of ${plural(processed, "run")}`;
  return h("span", { class: failed > 0 ? "bad" : "zero", title }, words);
}

function row(each, atLeast, units) {
  const { type } = each;
  const jobs = (n, state, what) =>
    figure(atLeast, jobsLink(n, { state, type }, what, ` of type ${type}`));
  return h(
    "tr",
    { "data-key": type },
    h(
      "td",
      { class: "wide" },
      h(
        "a",
        { href: link(`types/${part(type)}`), class: "name", title: type },
        type,
      ),
    ),
    speed(each.processed_per_s, units.processed),
    speed(each.failed_per_s, units.failed, "bad"),
    figure(share(each)),
    seconds(each.run_p50_s),
    seconds(each.run_p95_s),
    jobs(each.waiting, "any", "waiting job"),
    jobs(each.dead, "dead", "dead job"),
    figure(ago(each.last_at)),
  );
}

function about({ others, types_max: max }) {
  const more = others.processed > 0 && [
    ` ${plural(others.processed, "other run")}: of jobs without a type, `,
    `or of types after the first ${count(max)}.`,
  ];
  return h(
    "p",
    { class: "dim" },
    "Runs are counted since the server started. The times are estimates.",
    more,
  );
}

/** How far the count of waiting and dead jobs is. */
function counting(ctx) {
  const { now } = walks;
  if (!isThrough(now)) {
    const words = `${plural(now.looked, "job")} counted so far.`;
    return h("span", { class: "dim", role: "status" }, words);
  }
  if (now.looked < LONG_JOBS) return null;
  return button(
    "Count jobs again",
    () => {
      walks.now = newWalk();
      ctx.refresh();
    },
    { kind: "quiet small" },
  );
}

export default {
  title: "Types",
  load,
  render(ctx, found) {
    const { params, state: memory } = ctx;
    const match = (params.match ?? "").toLowerCase();
    const types = found.types
      .filter(({ type }) => type.toLowerCase().includes(match))
      .sort(compare(params));
    const shown = memory.showsAll ? types : types.slice(0, ROWS);
    const filter = h("input", {
      type: "search",
      value: params.match ?? "",
      placeholder: "Filter by name",
      "aria-label": "Filter types by name",
      oninput: ({ target }) => replace(link("types", { ...params, match: target.value })),
    });
    const units = {
      processed: rateUnit(shown.map((each) => each.processed_per_s)),
      failed: rateUnit(shown.map((each) => each.failed_per_s)),
    };
    const columns = COLUMNS.map((each) => [
      sortLink("types", params, orderOf(params), each, "type"),
      each[2],
    ]);
    return [
      head(["Types ", h("span", { class: "count" }, count(found.types.length))], filter),
      types.length > 0
        ? table(
            "Types of jobs",
            columns,
            shown.map((each) => row(each, found.isCounted ? null : "≥ ", units)),
            "cards",
          )
        : empty(
            params.match
              ? `No type has “${params.match}” in its name.`
              : "No jobs with a type yet. Pushed jobs have one.",
          ),
      about(found),
      h(
        "div",
        { class: "pager" },
        counting(ctx),
        shown.length < types.length &&
          button(
            `Show all ${plural(types.length, "type")}`,
            () => {
              memory.showsAll = true;
              ctx.draw();
            },
            { kind: "plain small", isLocal: true },
          ),
      ),
    ];
  },
};
