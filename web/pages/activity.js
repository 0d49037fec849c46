// The last changes of people and administrators' programs.
import { get, part, url } from "../api.js";
import { h } from "../dom.js";
import { ago, count, none } from "../format.js";
import { writeTime } from "../query.js";
import { go, link } from "../route.js";
import { badge, empty, figure, head, notice, pager, queueLink, table } from "../ui.js";
import { filterField, filterForm, timeOf } from "./job_filters.js";
import { ACTIONS } from "../parts/actions.js";

const LIMIT = 100;

const COLUMNS = [["When", "n"], ["Action"], ["Target", "wide"], ["Changed", "n"], ["From"]];

function target({ action, target: name }) {
  if (!name) return null;
  const [kind] = action.split("/");
  if (kind === "queues" || kind === "throttles") return queueLink(name);
  if (kind === "jobs" || kind === "locks") return h("a", { href: link(`jobs/${name}`) }, name);
  if (kind === "views") return h("a", { href: link(`views/${part(name)}`) }, name);
  if (kind === "alerts") return h("a", { href: link("alerts") }, name);
  if (kind === "errors") return h("a", { href: link(`errors/${name}`) }, name);
  return h("span", { class: "name" }, name);
}

/** The page on which somebody asked for it. Any client may say anything, and gets no link away. */
function askedOn(page) {
  const to = page.replace(/^\/+/, "");
  const href = link(to);
  if (new URL(href, document.baseURI).origin !== location.origin) return null;
  return h("div", { class: "dim" }, "on ", h("a", { href, class: "name" }, to || "Overview"));
}

const TIMES = [
  ["since_ms", "Since"],
  ["until_ms", "Until"],
];
const FILTERS = [
  ["who", "Who", "user or client"],
  ["from", "From", "address"],
  ["text", "Text", "target, details…"],
];

function filters(params) {
  const put = (name, value) =>
    go(link("activity", { ...params, cursor: "", [name]: value.trim() }));
  const option = (name, value, text) =>
    h("option", { value, selected: (params[name] ?? "") === value }, text);
  const choice = (name, title, options) =>
    h(
      "label",
      { class: "field" },
      h("span", {}, title),
      h("select", { onchange: ({ target }) => put(name, target.value) }, options),
    );
  return filterForm(
    FILTERS.map(([name, title, hint]) =>
      filterField(name, title, {
        value: params[name] ?? "",
        placeholder: hint,
        onchange: ({ target }) => put(name, target.value),
      }),
    ),
    TIMES.map(([name, title]) =>
      filterField(name, title, {
        value: params[name] ? writeTime(params[name]) : "",
        placeholder: "2h or 2026-11-26T10:05Z",
        onchange: ({ target }) => {
          const time = timeOf(target.value);
          if (time || !target.value.trim()) return put(name, time);
          notice(`“${target.value}” is not a time, as 2026-11-26T10:05Z, or an age, as 2h.`, "bad");
        },
      }),
    ),
    choice("action", "Action", [
      option("action", "", "any"),
      Object.entries(ACTIONS).map(([value, text]) => option("action", value, text)),
    ]),
    choice("refused", "Outcome", [
      option("refused", "", "any"),
      option("refused", "0", "made"),
      option("refused", "1", "refused"),
    ]),
  );
}

const refusal = ({ attempts }) => (attempts > 1 ? `refused, ${count(attempts)} times` : "refused");

/** All that match, as a file. */
function exportLink({ cursor: _, ...params }) {
  return h(
    "a",
    { href: url("activity", { ...params, format: "ndjson" }), download: "millrace-audit.ndjson" },
    "Export as NDJSON",
  );
}

const row = (change) =>
  h(
    "tr",
    { "data-key": String(change.number) },
    figure(ago(change.at)),
    h(
      "td",
      { class: "line" },
      ACTIONS[change.action] ?? change.action,
      change.is_refused && [" ", badge(refusal(change), "dead")],
    ),
    h(
      "td",
      { class: "wide" },
      target(change),
      change.details && h("div", { class: "dim message" }, change.details),
    ),
    figure(
      change.changed === null ? none() : count(change.changed),
      change.is_running && [" ", badge("running")],
    ),
    h(
      "td",
      { class: "line" },
      change.user && h("div", {}, h("strong", { class: "name" }, change.user)),
      h("div", {}, h("span", { class: "name" }, change.client || change.protocol)),
      h(
        "div",
        { class: "dim" },
        h("span", { class: "name" }, change.from),
        change.how && change.how !== "none" && `, by ${change.how}`,
      ),
      change.page && askedOn(change.page),
    ),
  );

export default {
  title: "Activity",
  load: ({ params }, signal) => get("activity", { ...params, limit: LIMIT }, { signal }),
  render({ params }, { changes, next }) {
    return [
      head("Activity", [exportLink(params)]),
      h(
        "p",
        { class: "dim" },
        "The last 10,000 changes by this UI, the JSON API, and MUTATE, FLUSH and QUEUE of Faktory ",
        "clients, refused attempts, and alerts that were sent. Pushes from clients are not listed.",
      ),
      filters(params),
      changes.length > 0
        ? table("Changes", COLUMNS, changes.map(row), "cards")
        : empty("No more changes."),
      pager("activity", params, next),
    ];
  },
};
