import { get } from "../api.js";
import { h } from "../dom.js";
import { ago, count, none, plural } from "../format.js";
import { VERBS, changeAll } from "../operation.js";
import { link, replace } from "../route.js";
import { nameGroup } from "./job_filters.js";
import {
  STATES,
  acts,
  button,
  empty,
  figure,
  head,
  jobsLink,
  pager,
  queueLinks,
  table,
} from "../ui.js";

/** For so long failures are counted automatically, the rest on request. */
const COUNT_MS = 1500;
const PAGE_GROUPS = 50;
const QUEUES_SHOWN = 5;

/** The states of a failed job that was retried and has not ended yet. */
const AGAIN = ["ready", "reserved", "scheduled"];
const total = (group) => Object.keys(STATES).reduce((sum, state) => sum + group[state], 0);

function merge(known, found) {
  for (const each of found) {
    nameGroup(each.group, each);
    const group = known.get(each.group);
    if (!group) {
      known.set(each.group, { ...each });
      continue;
    }
    for (const state of Object.keys(STATES)) group[state] += each[state];
    if (each.first_at < group.first_at) group.first_at = each.first_at;
    if (each.last_at > group.last_at) group.last_at = each.last_at;
    group.queues = [...new Set([...group.queues, ...each.queues])];
  }
}

async function load({ params, state: memory, draw }, signal) {
  const { match: _, page: __, ...asked } = params; // these are for what the server has sent
  const groups = new Map();
  let cursor = "",
    looked = 0,
    all = 0;
  const end = performance.now() + COUNT_MS;
  const goesOn = () => memory.wantsAll || performance.now() < end;
  for (let slice = 0; cursor !== null && (slice === 0 || goesOn()); slice += 1) {
    const page = await get("errors", { ...asked, cursor }, { signal });
    merge(groups, page.groups);
    looked += page.looked_at;
    all = Math.max(looked, page.to_look_at); // jobs come and go meanwhile
    cursor = page.next;
    if (slice % 10 === 9) {
      memory.progress = `Counted ${count(looked)} of ${plural(all, "job")}…`;
      draw();
    }
  }
  memory.progress = null;
  memory.isLong = looked > 20000;
  return {
    groups: [...groups.values()].sort((a, b) => total(b) - total(a)),
    looked,
    all,
    isThrough: cursor === null,
  };
}

function row(ctx, group, atLeast) {
  const again = AGAIN.filter((state) => group[state] > 0);
  const isOver = group.retrying + group.dead === 0;
  const those = { states: ["retrying", "dead"], group: group.group };
  const what = `all failed jobs with ${group.type}: ${group.message}`;
  const act1 = (action, kind) =>
    button(VERBS[action], () => changeAll(action, those, what, ctx.refresh), {
      kind,
      label: `${VERBS[action]} ${what}`,
      key: action,
      disabled: isOver,
    });
  const jobs = (state) =>
    jobsLink(
      group[state],
      { state, group: group.group },
      `${state} job`,
      ` with ${group.type}`,
    );
  return h(
    "tr",
    { "data-key": group.group },
    h(
      "td",
      { class: "wide" },
      h(
        "a",
        { href: link(`errors/${group.group}`), title: "Types, queues and a backtrace" },
        h("strong", {}, group.type),
      ),
      h("div", { class: "message" }, group.message),
      group.frame && h("div", { class: "dim" }, group.frame),
    ),
    h(
      "td",
      { class: "list" },
      queueLinks(group.queues.slice(0, QUEUES_SHOWN)),
      group.queues.length > QUEUES_SHOWN &&
        h("span", { class: "dim" }, ` and ${group.queues.length - QUEUES_SHOWN} more`),
    ),
    figure(atLeast, jobs("retrying")),
    figure(atLeast, jobs("dead")),
    figure(
      again.length === 0
        ? none()
        : again.map((state) =>
            h(
              "div",
              { class: "worded" },
              atLeast,
              jobs(state),
              h("span", { class: "dim" }, ` ${state}`),
            ),
          ),
    ),
    figure(ago(group.first_at)),
    figure(ago(group.last_at)),
    acts(ctx, act1("retry", "small"), act1("delete", "small danger")),
  );
}

/** Whether the words are in its type, message, frame or the name of a queue. */
function matches({ type, message, frame, queues }, words) {
  const wanted = words.toLowerCase();
  const texts = [type, message, frame ?? "", ...queues];
  return texts.some((text) => text.toLowerCase().includes(wanted));
}

export default {
  title: "Errors",
  isStill: ({ state }) => state.isLong,
  load,
  render(ctx, { groups, looked, all, isThrough }) {
    const { params } = ctx;
    const { match = "" } = params;
    const found = groups.filter((each) => matches(each, match));
    const asked = (Number(params.page) || 0) * PAGE_GROUPS;
    const first = asked < found.length ? asked : 0;
    const shown = found.slice(first, first + PAGE_GROUPS);
    const next = first + PAGE_GROUPS < found.length ? first / PAGE_GROUPS + 1 : null;
    const filter = h("input", {
      type: "search",
      value: match,
      placeholder: "Filter",
      "aria-label": "Filter errors by type, message or queue",
      oninput: (event) =>
        replace(link("errors", { ...params, page: "", match: event.target.value })),
    });
    const more = [
      !isThrough &&
        h("span", { class: "dim" }, `${count(looked)} of ${plural(all, "job")} counted.`),
      !isThrough &&
        button(
          "Count all",
          () => {
            ctx.state.wantsAll = true;
            ctx.refresh();
          },
          { kind: "plain small" },
        ),
      ctx.state.isLong && button("Count again", ctx.refresh, { kind: "quiet small" }),
    ];
    return [
      head([
        "Errors ",
        h(
          "span",
          { class: "count" },
          `${isThrough ? "" : "at least "}${plural(found.length, "group")}`,
        ),
      ], filter),
      ctx.state.progress && h("p", { class: "progress", role: "status" }, ctx.state.progress),
      groups.length === 0
        ? empty("No failed jobs. Failures are grouped by type, message and place in the code.")
        : shown.length === 0
        ? empty(`No error has “${match}” in its type, message, frame or queues.`)
        : table(
            "Failures by type and message",
            [
              ["Error", "wide"],
              ["Queues"],
              ["Retrying", "n"],
              ["Dead", "n"],
              ["Requeued", "n"],
              ["First", "n"],
              ["Latest", "n"],
              ["", "acts"],
            ],
            shown.map((each) => row(ctx, each, isThrough ? null : "≥ ")),
            "cards",
          ),
      pager("errors", params, next, more, "page"),
    ];
  },
};
