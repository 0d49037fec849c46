import { get } from "../api.js";
import { h } from "../dom.js";
import { ago, count } from "../format.js";
import { causeOf, memberCounts, progressBar } from "../parts/batch_marks.js";
import { link } from "../route.js";
import { badge, empty, figure, head, pager, table } from "../ui.js";

const LIMIT = 50;
/** A list that takes more requests than this is not updated automatically. */
const SLICES_STILL = 6;

/** Name, shape and colour of each state of a batch, and what it says in an empty list. */
export const STAGES = {
  open: { name: "Open", kind: "scheduled", sign: "◷", says: "takes jobs: it is not committed yet" },
  running: {
    name: "Running",
    kind: "reserved",
    sign: "▶",
    says: "has members, children or callbacks under way",
  },
  failed: {
    name: "Failed",
    kind: "dead",
    sign: "✕",
    says: "has run, and some of its members failed",
  },
  succeeded: { name: "Succeeded", kind: "done", sign: "✓", says: "is done and kept for a day" },
};

export const stageBadge = (stage) => {
  const { name, kind, sign } = STAGES[stage];
  return badge(name, kind, sign);
};

/** Its description, or its name. */
export const batchLink = ({ bid, description }) =>
  h("a", { href: link(`batches/${bid}`), class: "name", title: bid }, description || bid);

const number = (n) => figure(h("span", { class: n > 0 ? "" : "zero" }, count(n)));

const COLUMNS = [
  ["Batch", "wide"],
  ["State"],
  ["Jobs", "bars"],
  ["Children", "n"],
  ["Created", "n"],
];

function row(batch) {
  const { bid, description, total } = batch;
  return h(
    "tr",
    { "data-key": bid },
    h(
      "td",
      { class: "wide" },
      batchLink(batch),
      description && h("div", { class: "dim" }, bid),
      causeOf(batch),
    ),
    h("td", {}, stageBadge(batch.state)),
    h(
      "td",
      { class: "bars" },
      total > 0 && [`${count(batch.succeeded)} of ${count(total)}`, progressBar(batch)],
      total > 0 ? memberCounts(batch) : h("span", { class: "none" }, "none"),
    ),
    number(batch.children),
    figure(ago(batch.created_at)),
  );
}

function tabs({ state = "", parent }) {
  const tab = (name) =>
    h(
      "a",
      {
        href: link("batches", { state: name, parent }),
        "aria-current": state === name ? "page" : null,
        class: STAGES[name]?.kind,
      },
      name === ""
        ? "All"
        : [h("i", { "aria-hidden": "true" }, STAGES[name].sign), ` ${STAGES[name].name}`],
    );
  return h(
    "nav",
    { class: "tabs", "aria-label": "States" },
    ["", ...Object.keys(STAGES)].map(tab),
  );
}

function nothing({ state, parent, cursor }, total) {
  if (cursor) return empty("No more batches.");
  if (parent) return empty("No such child.");
  if (total > 0) return empty(`No batch is ${state}. Such a batch ${STAGES[state].says}.`);
  return empty(
    "No batches yet. A batch is a group of jobs with callbacks, which are pushed when all jobs " +
      "have run or have succeeded. Faktory clients make one with BATCH NEW.",
  );
}

/** An answer covers some thousand batches, of which few may be in the state. */
async function load({ params, state }, signal) {
  const found = await get("batches", { ...params, limit: LIMIT }, { signal });
  const batches = [...found.batches];
  let { next } = found;
  for (state.slices = 1; next && batches.length < LIMIT; state.slices += 1) {
    const page = await get(
      "batches",
      { ...params, cursor: next, limit: LIMIT - batches.length },
      { signal },
    );
    batches.push(...page.batches);
    ({ next } = page);
  }
  return { batches, total: found.total, next };
}

export default {
  title: "Batches",
  isStill: ({ state }) => state.slices > SLICES_STILL,
  load,
  render({ params }, { batches, total, next }) {
    const { parent } = params;
    return [
      parent &&
        h("p", { class: "crumbs" }, h("a", { href: link(`batches/${parent}`) }, parent)),
      head(
        parent
          ? ["Children of ", h("span", { class: "id" }, parent)]
          : ["Batches ", h("span", { class: "count" }, count(total))],
      ),
      tabs(params),
      batches.length > 0
        ? table("Batches", COLUMNS, batches.map(row), "cards")
        : nothing(params, total),
      pager("batches", params, next),
    ];
  },
};

/** The batch of a job on its own page. */
export function batchOf({ batch }) {
  const { bid, role, is_there: isThere } = batch;
  const name = isThere ? batchLink({ bid }) : h("span", {}, bid, " (gone)");
  return role === "member" ? name : [`${role} callback of `, name];
}
