import { get, serverNow } from "../api.js";
import { spark } from "../chart.js";
import { h } from "../dom.js";
import { ago, count, none, plural } from "../format.js";
import { VERBS, changeAll } from "../operation.js";
import { mutedBadge, noteOf } from "../parts/error_marks.js";
import { params as addressed, go, link, replace } from "../route.js";
import { filterField, filterForm, nameGroup } from "./job_filters.js";
import {
  acts,
  badge,
  button,
  empty,
  figure,
  head,
  jobIn,
  jobsLink,
  pager,
  queueLinks,
  table,
} from "../ui.js";

const LIMIT = 50;
/** For so long groups that match are looked for, in some answers each. */
const SEARCH_MS = 1500;
/** So many are shown beside other things, and looked for so long. */
const TOP = 5;
const TOP_MS = 200;
const QUEUES_SHOWN = 5;
const TYPES_SHOWN = 3;
const TYPE_CHARACTERS = 60;
/** An error that occurred first within this time is new. */
const NEW_S = 3600;

const FILTERS = [
  ["queue", "Queue", "name or prefix*"],
  ["type", "Job type", "name or prefix*"],
];

/** The states of a failed job that was retried and has not ended yet. */
export const AGAIN = ["ready", "reserved", "scheduled"];

/** Groups that match, LIMIT of them or more, unless there are fewer or it takes long. Without those
 * that are muted, unless `query` asks for them. */
export async function findErrors(query, signal, limit = LIMIT, ms = SEARCH_MS) {
  const found = { groups: [], next: query.cursor ?? "" };
  const end = performance.now() + ms;
  do {
    const left = limit - found.groups.length;
    const asked = { muted: "no", ...query, limit: left, cursor: found.next };
    const page = await get("errors", asked, { signal });
    found.groups.push(...page.groups);
    found.muted = page.muted;
    found.next = page.next;
    found.all = page.to_look_at;
  } while (found.next && found.groups.length < limit && performance.now() < end);
  for (const each of found.groups) nameGroup(each.group, each);
  return found;
}

/** The errors with the most jobs among those of a queue or a type, for its page. */
export const findTopErrors = (query, signal) =>
  findErrors(query, signal, TOP, TOP_MS).catch((error) => {
    // No filter is as long as a name may be.
    if (error.status === 400) return { groups: [], next: null };
    throw error;
  });

/** A group is forgotten with its last job: one that has occurred before was not new. */
const isNew = ({ first_at: first, hours, muted }) =>
  first &&
  !muted &&
  serverNow() - Date.parse(first) < NEW_S * 1000 &&
  !hours?.slice(0, -1).some(Boolean);

/** What the error is, with a link to its page. */
const what = (group) => [
  h(
    "a",
    { href: link(`errors/${group.group}`), title: "Types, queues and a backtrace" },
    h("strong", {}, group.type ?? `Error ${group.group}`),
  ),
  isNew(group) && [" ", badge("new", "dead")],
  group.muted && [" ", mutedBadge(group)],
  h("div", { class: "message" }, group.message),
  group.frame && h("div", { class: "dim" }, group.frame),
  noteOf(group),
];

/** How often it failed in each of the last 24 hours. */
function trend({ hours }) {
  if (!hours?.some(Boolean)) return none();
  const day = [...Array(24 - hours.length).fill(0), ...hours];
  const all = plural(day.reduce((sum, n) => sum + n), "failure");
  const title = `${all} in 24 h, ${count(day.at(-1))} in the last hour`;
  return h("span", { title }, spark(day, "bad"));
}

const cut = (name) =>
  name.length > TYPE_CHARACTERS ? `${name.slice(0, TYPE_CHARACTERS - 1)}…` : name;

const others = (n) => n > 0 && h("span", { class: "dim" }, ` and ${count(n)} more`);

function row(ctx, group) {
  const again = AGAIN.filter((state) => group[state] > 0);
  const isOver = group.retrying + group.dead === 0;
  const those = { states: ["retrying", "dead"], group: group.group };
  const failed = `all failed jobs with ${group.type}: ${group.message}`;
  const act1 = (action, kind) =>
    button(VERBS[action], () => changeAll(action, those, failed, ctx.refresh), {
      kind,
      label: `${VERBS[action]} ${failed}`,
      key: action,
      disabled: isOver,
    });
  const jobs = (state) =>
    jobsLink(
      group[state],
      { state, group: group.group },
      jobIn(state),
      ` with ${group.type}`,
    );
  const types = group.types.slice(0, TYPES_SHOWN).map(cut).join(", ");
  return h(
    "tr",
    { "data-key": group.group },
    h("td", { class: "wide" }, what(group)),
    h("td", {}, trend(group)),
    h(
      "td",
      { class: "list" },
      queueLinks(group.queues.slice(0, QUEUES_SHOWN)),
      others(group.queue_count - QUEUES_SHOWN),
      h("div", { class: "dim" }, types, others(group.types.length - TYPES_SHOWN)),
    ),
    figure(jobs("retrying")),
    figure(jobs("dead")),
    figure(
      again.length === 0
        ? none()
        : again.map((state) =>
            h("div", { class: "worded" }, jobs(state), h("span", { class: "dim" }, ` ${state}`)),
          ),
    ),
    figure(ago(group.first_at)),
    figure(ago(group.last_at)),
    acts(ctx, act1("retry", "small"), act1("delete", "small danger")),
  );
}

function filters({ params }) {
  // The address may be newer than what is drawn.
  const to = (name, value) => link("errors", { ...addressed(), cursor: "", [name]: value });
  return filterForm(
    filterField("match", "Text", {
      value: params.match ?? "",
      placeholder: "error, message or frame",
      "aria-label": "Filter errors by type, message, frame or queue",
      oninput: ({ target }) => replace(to("match", target.value)),
    }),
    FILTERS.map(([name, title, hint]) =>
      filterField(name, title, {
        value: params[name] ?? "",
        placeholder: hint,
        onchange: ({ target }) => go(to(name, target.value.trim())),
      }),
    ),
  );
}

/** A link to the errors that are muted, or back to the others. */
function mutedLink(params, muted, isFiltered) {
  const to = (which) => link("errors", { ...params, cursor: "", muted: which });
  if (params.muted) return h("a", { href: to("") }, "Errors that are not muted");
  // How many of them match is not known.
  const text = isFiltered ? "Muted" : `${count(muted)} muted`;
  return muted > 0 && h("a", { href: to("only") }, text);
}

/** "SendMail", "queue mail" */
const said = ({ match, queue, type }) =>
  [match && `“${match}”`, queue && `queue “${queue}”`, type && `job type “${type}”`]
    .filter(Boolean)
    .join(", ");

/** What `findTopErrors` has found. */
export function topErrors({ groups, next }, query) {
  if (groups.length === 0 && !next) return null;
  const line = (group) =>
    h(
      "tr",
      { "data-key": group.group },
      h("td", { class: "wide" }, what(group)),
      h("td", {}, trend(group)),
      figure(count(group.jobs)),
      figure(ago(group.last_at)),
    );
  return h(
    "section",
    {},
    h(
      "div",
      { class: "head" },
      h("h2", {}, "Top errors"),
      next && h("a", { href: link("errors", query) }, "All errors"),
    ),
    groups.length > 0
      ? table(
          "Top errors",
          [["Error", "wide"], ["24 h"], ["Jobs overall", "n"], ["Last seen", "n"]],
          groups.map(line),
          "cards",
        )
      : h("p", { class: "empty" }, "No match among the most frequent errors."),
  );
}

export default {
  title: "Errors",
  // A search that took long is not made again every two seconds.
  isStill: ({ state }) => state.isLong,
  async load({ params, state: memory }, signal) {
    const found = await findErrors(params, signal);
    memory.isLong = found.groups.length < LIMIT && Boolean(found.next);
    return found;
  },
  render(ctx, { groups, next, all, muted }) {
    const { params } = ctx;
    const filter = said(params);
    // Of a search, and where a user sees some queues, only what this page has found is known.
    const isPart = Boolean(filter) || all === null;
    const number = isPart ? groups.length : params.muted ? muted : all - muted;
    const atLeast = isPart && (next || params.cursor) ? "at least " : "";
    return [
      head(
        ["Errors ", h("span", { class: "count" }, atLeast + plural(number, "group"))],
        mutedLink(params, muted, Boolean(filter)),
      ),
      (all !== 0 || filter) && filters(ctx),
      groups.length > 0
        ? table(
            "Failures by type and message",
            [
              ["Error", "wide"],
              ["24 h"],
              ["Queues, job types"],
              ["Retrying", "n"],
              ["Dead", "n"],
              ["Requeued", "n"],
              ["First seen", "n"],
              ["Last seen", "n"],
              ["", "acts"],
            ],
            groups.map((each) => row(ctx, each)),
            "cards",
          )
        : empty(
            params.cursor
              ? "No more errors."
              : filter
              ? `No errors match ${filter}.${
                  muted > 0 && !params.muted ? " Muted errors were not searched." : ""
                }`
              : params.muted
              ? "No errors are muted."
              : muted > 0
              ? "No errors except muted ones."
              : "No failed jobs. Failures are grouped by error type, message and code location.",
          ),
      pager("errors", params, next, [
        ctx.state.isLong && button("Search again", ctx.refresh, { kind: "quiet small" }),
      ]),
    ];
  },
};
