import { get, part, post } from "../api.js";
import { spark } from "../chart.js";
import { h } from "../dom.js";
import { age, count, none, plural, rateUnit } from "../format.js";
import { follow } from "../operation.js";
import { link, replace } from "../route.js";
import { choices } from "../parts/series.js";
import {
  act,
  actsOn,
  ask,
  button,
  empty,
  figure,
  head,
  jobIn,
  jobsLink,
  pager,
  pausedBadge,
  queueLink,
  sortLink,
  speed,
  table,
  throttledBadge,
} from "../ui.js";

const COLUMNS = [
  ["name", "Queue", "wide"],
  ["ready", "Ready", "n"],
  ["oldest", "Oldest", "n"],
  ["reserved", "Running", "n"],
  ["scheduled", "Scheduled", "n"],
  ["retrying", "Retrying", "n"],
  ["dead", "Dead", "n"],
  ["enqueued", "Enqueued", "n"],
  ["processed", "Processed", "n"],
  ["failed", "Failed", "n"],
];
const ORDERS = [
  ["worst", "Worst first"],
  ["name", "By name"],
];
const LIMIT = 100;
/** A list that takes more requests than this is not updated automatically. */
const SLICES_STILL = 12;

/** How long a queue may be paused, in seconds. */
const PAUSES = [
  [0, "until it is resumed"],
  [60, "for a minute"],
  [300, "for 5 minutes"],
  [900, "for 15 minutes"],
  [3600, "for an hour"],
  [14400, "for 4 hours"],
  [86400, "for a day"],
];

/** Resolves to the body of the request, or to null. */
async function askPause({ name }) {
  const options = PAUSES.map(([seconds, words]) => h("option", { value: String(seconds) }, words));
  const select = h("select", { id: "how-long" }, options);
  const agreed = await ask({
    title: `Pause ${name}?`,
    text: "New jobs are still accepted, but workers get none. Running jobs continue.",
    more: h("p", {}, h("label", { for: "how-long" }, "Pause it"), " ", select),
    verb: "Pause",
    kind: "primary",
  });
  const seconds = Number(select.value);
  return agreed ? { ...(seconds && { seconds }) } : null;
}

export async function turnPause(ctx, queue) {
  const { name, is_paused: isPaused } = queue;
  const body = isPaused ? {} : await askPause(queue);
  if (!body) return;
  await act(
    () => post(`queues/${part(name)}/${isPaused ? "resume" : "pause"}`, body),
    `${name} is ${isPaused ? "resumed" : "paused"}.`,
  );
  ctx.refresh();
}

const number = (n, what) => plural(n, `${what} job`);

/** Changes the jobs that the page showed, and no newer ones. */
const sweep = (ctx, { name, as_of }, how, n) =>
  act(async () =>
    follow(await post(`queues/${part(name)}/${how}`, { as_of, at_most: n }), ctx.refresh),
  );

export async function clear(ctx, queue) {
  const { name, ready } = queue;
  const agreed = await ask({
    title: `Clear ${name}?`,
    text:
      `${number(ready, "ready")} will be deleted permanently. ` +
      "Scheduled, retrying, running and dead jobs stay.",
    verb: `Delete ${number(ready, "ready")}`,
    typed: ready,
  });
  if (agreed) sweep(ctx, queue, "clear", ready);
}

export async function remove(ctx, queue) {
  const { name, ready, scheduled, retrying, dead } = queue;
  const all = ready + scheduled + retrying + dead;
  const agreed = await ask({
    title: `Delete the queue ${name}?`,
    text:
      `${number(ready, "ready")}, ${number(scheduled, "scheduled")}, ` +
      `${number(retrying, "retrying")} and ${number(dead, "dead")} will be deleted ` +
      "permanently. Running jobs stay, and the queue stays while it has any.",
    verb:
      all === 0
        ? "Delete the empty queue"
        : `Delete the queue and ${plural(all, "job")}`,
    typed: all,
  });
  if (agreed) sweep(ctx, queue, "delete", all);
}


function row(ctx, queue, units) {
  const { name } = queue;
  const jobs = (state) =>
    figure(
      jobsLink(queue[state], { state, queue: name }, jobIn(state), ` of ${name}`),
    );
  const act1 = (verb, run, key, kind, disabled) =>
    button(verb, () => run(ctx, queue), { kind, disabled, label: `${verb} ${name}`, key });
  const others = h(
    "details",
    { class: "more" },
    h("summary", { "aria-label": `More actions for ${name}`, title: "More actions" }, "⋯"),
    act1("Clear", clear, "clear", "small danger", queue.ready === 0),
    act1("Delete", remove, "delete", "small danger"),
  );
  return h(
    "tr",
    { "data-key": name },
    h("td", { class: "wide" }, queueLink(name), pausedBadge(queue), throttledBadge(queue)),
    jobs("ready"),
    figure(age(queue.oldest_ready_at)),
    jobs("reserved"),
    jobs("scheduled"),
    jobs("retrying"),
    jobs("dead"),
    speed(queue.enqueued_per_s, units.enqueued),
    speed(queue.processed_per_s, units.processed),
    speed(queue.failed_per_s, units.failed, "bad"),
    figure(queue.recent?.some(Boolean) ? spark(queue.recent, "good") : none()),
    actsOn(
      ctx,
      name,
      act1(queue.is_paused ? "Resume" : "Pause", turnPause, "pause", "small"),
      others,
    ),
  );
}

/** The sums over all queues, those on other pages included. */
function sums(total, totals, units) {
  const jobs = (state) =>
    figure(jobsLink(totals[state], { state }, jobIn(state), " of all queues"));
  return h(
    "tr",
    { "data-key": "totals" },
    h("th", { scope: "row", class: "wide" }, plural(total, "queue")),
    jobs("ready"),
    h("td"),
    ["reserved", "scheduled", "retrying", "dead"].map(jobs),
    speed(totals.enqueued_per_s, units.enqueued),
    speed(totals.processed_per_s, units.processed),
    speed(totals.failed_per_s, units.failed, "bad"),
    h("td"),
    h("td"),
  );
}

/** Without an order in the address, the worst come first. */
function orderOf(params) {
  const sort = params.sort ?? (params.order ? "name" : "worst");
  return { ...params, sort, order: sort === "worst" ? "desc" : params.order };
}

const title = (params, column) => sortLink("queues", params, orderOf(params), column, "name");

/** The order of the list. The server sends the key of each row as "value@moment:name". */
function compare({ sort, order }) {
  const sign = order === "desc" ? -1 : 1;
  return (a, b) => {
    const values = [a, b].map(({ place }) => parseFloat(place));
    const names = a.name < b.name ? -1 : 1;
    return sign * (values[0] - values[1]) || (sort === "name" ? sign * names : names);
  };
}

/** An answer covers some thousand queues: every slice may have rows that come first. */
async function load({ params, state }, signal) {
  const found = { queues: [], next: null };
  let from = "";
  state.slices = 0;
  do {
    const asked = { ...orderOf(params), recent: 1, limit: LIMIT, from };
    const page = await get("queues", asked, { signal });
    found.queues.push(...page.queues.map((each) => ({ ...each, as_of: page.as_of })));
    found.total = page.total;
    found.totals = page.totals;
    found.next ??= page.next;
    ({ from } = page);
    state.slices += 1;
  } while (from);
  if (state.slices === 1) return found;
  found.queues.sort(compare(orderOf(params)));
  if (found.queues.length > LIMIT) found.next = found.queues[LIMIT - 1].place;
  found.queues.length = Math.min(found.queues.length, LIMIT);
  return found;
}

export default {
  title: "Queues",
  isStill: ({ state }) => state.slices > SLICES_STILL,
  load,
  render(ctx, { queues, total, totals, next }) {
    const { params } = ctx;
    const units = Object.fromEntries(
      ["enqueued", "processed", "failed"].map((name) => [
        name,
        rateUnit(queues.map((each) => each[`${name}_per_s`])),
      ]),
    );
    const asListed = { ...params, cursor: "", order: "" };
    const matched = `${count(queues.length)}${next || params.cursor ? "+" : ""} of ${count(total)}`;
    const filter = h("input", {
      type: "search",
      value: params.match ?? "",
      placeholder: "Filter by name",
      "aria-label": "Filter queues by name",
      oninput: (event) =>
        replace(link("queues", { ...params, cursor: "", match: event.target.value })),
    });
    const body =
      queues.length > 0
        ? table(
            "Queues",
            [
              ...COLUMNS.map((each) => [title(params, each), each[2]]),
              ["Last 15 min", "n"],
              ["", "acts"],
            ],
            queues.map((each) => row(ctx, each, units)),
            "cards",
            !params.match && sums(total, totals, units), // they are of all queues
          )
        : params.match
          ? empty(`No queue has “${params.match}” in its name.`)
          : empty("No queues yet. The first job creates one.");
    return [
      head(
        ["Queues ", h("span", { class: "count" }, params.match ? matched : count(total))],
        choices("Order", "sort", ORDERS, orderOf(params).sort, asListed),
        filter,
      ),
      body,
      pager("queues", params, next),
    ];
  },
};
