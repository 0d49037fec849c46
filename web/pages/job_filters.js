// The filters of the list of jobs: as fields, and in one line. They are in the address.
import { get, ifAllowed, serverNow } from "../api.js";
import { h } from "../dom.js";
import { shownTime } from "../format.js";
import { complete, parse, write } from "../query.js";
import { go, link } from "../route.js";
import { STATES } from "../ui.js";

const FILTERS = [
  ["queue", "Queue", "mail or mail*"],
  ["type", "Type", "Send or Send*"],
  ["id", "Job", "number or jid…"],
  ["error", "Error", "type or message"],
  ["text", "Text", "anywhere in the body"],
  ["arg", "Argument", "user.id:42"],
  ["older_than_s", "Older than", "30m, 2h, 7d"],
];
const AGE = { s: 1, m: 60, h: 3600, d: 86400 };
const MORE = [
  ["q", "Query"],
  ["bid", "Batch"],
  ["group", "Error group"],
  ["wid", "Worker"],
  ["client", "Connection"],
  ["failed_since_ms", "Failed from"],
  ["failed_until_ms", "Failed before"],
];
const ALL = [...FILTERS, ...MORE];

const groupNames = new Map(); // error group -> what its failures have in common
const GROUPS_MAX = 1000;

/** Remembers how to call a group: the address has only its hash. */
export function nameGroup(group, { type, message }) {
  if (groupNames.has(group)) return;
  if (groupNames.size >= GROUPS_MAX) groupNames.clear();
  groupNames.set(group, message ? `${type}: ${message}` : type);
}

/** What a filter looks for, in words. */
function valueOf(name, params) {
  if (name === "group") return groupNames.get(params.group) ?? "";
  return name.endsWith("_ms") ? shownTime(params[name]) : params[name];
}

function seconds(text) {
  const found = /^(\d+)\s*([smhd]?)$/.exec(text.trim());
  return found ? Number(found[1]) * AGE[found[2] || "s"] : null;
}

/** Milliseconds since 1970 of a time, as 2026-11-26T10:05Z, or an age, as 2h; "": it is neither. */
export function timeOf(text) {
  const age = seconds(text);
  const time = age === null ? Date.parse(text) : serverNow() - age * 1000;
  return Number.isNaN(time) ? "" : String(Math.round(time));
}

/** Every filter in the address. The server refuses unknown ones. */
export function filterOf({ state: _, cursor: __, view: ___, ...filter }) {
  if (filter.older_than_s) filter.older_than_s = seconds(filter.older_than_s);
  for (const name of ["failed_since_ms", "failed_until_ms"])
    if (Number(filter[name])) filter[name] = Number(filter[name]);
  return filter;
}

/** "queue “bulk”, error “timeout”" */
export const said = (params) =>
  ALL.filter(([name]) => params[name])
    .map(([name, title]) => {
      const value = valueOf(name, params);
      return value ? `${title.toLowerCase()} “${value}”` : "the same error";
    })
    .join(", ");

/** True for an invalid age. It must match no job: without this filter, all jobs would match. */
export const isWrong = ({ older_than_s: age }) => Boolean(age) && !seconds(age);

/** Values for a name in the line: those that the server knows, and those of the list. */
async function valuesOf(jobs, name, beginning) {
  const seen = (values) => [...new Set(values.filter((each) => each?.startsWith(beginning)))];
  if (name === "state") return seen([...Object.keys(STATES), "any"]);
  if (name === "queue") {
    const { queues } = await get("queues", { match: beginning, limit: 8 });
    return queues.map((queue) => queue.name);
  }
  const shown = (list, found) => seen([...list, ...found.map(({ type }) => type)]).slice(0, 8);
  if (name === "type") {
    const found = await ifAllowed("types", () => get("types"));
    return shown(jobs.map(({ type }) => type), found?.types ?? []);
  }
  if (name === "error") {
    const found = await ifAllowed("errors", () => get("errors", { match: beginning }));
    return shown(jobs.map(({ error }) => error?.type), found?.groups ?? []);
  }
  return [];
}

async function suggest({ target }, jobs) {
  const { value } = target;
  const lines = await complete(value, (name, beginning) => valuesOf(jobs, name, beginning));
  if (target.value !== value) return;
  document
    .getElementById("query-lines")
    .replaceChildren(...lines.map((line) => h("option", { value: line })));
}

/** All filters in one line; the fields below are the same. */
function queryLine(ctx, jobs) {
  const { params, state: memory } = ctx;
  const search = ({ target }) => {
    const { params: found, problem } = parse(target.value);
    memory.query = problem && { line: target.value, problem };
    if (problem) return ctx.draw();
    go(link("jobs", { state: params.state, view: params.view, ...found }));
  };
  const { line, problem } = memory.query ?? { line: write(params) };
  return h(
    "div",
    { class: "query" },
    h("label", { for: "query" }, "Query"),
    h("input", {
      id: "query",
      type: "search",
      value: line,
      list: "query-lines",
      placeholder: "state:dead type:Send* -error:timeout args.user.id:42 failed>1h OR attempts>3",
      spellcheck: "false",
      autocomplete: "off",
      "aria-invalid": problem ? "true" : null,
      "aria-describedby": problem ? "query-problem" : null,
      oninput: (event) => suggest(event, jobs).catch(() => {}),
      onchange: search,
    }),
    h("datalist", { id: "query-lines", "data-live": "query-lines" }),
    problem && h("p", { class: "problem", id: "query-problem", role: "alert" }, problem),
  );
}

/** Whether there are fields in place of the line: the first job matters more than both of them. */
const KEPT = "millrace.fields";
let hasFields = false;
try {
  hasFields = localStorage.getItem(KEPT) === "open";
} catch {
  // A browser that stores nothing begins with the line.
}

function keepFields({ target: { open } }) {
  hasFields = open;
  try {
    localStorage.setItem(KEPT, open ? "open" : "");
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}

/** A labelled field of a form of filters. */
export const filterField = (name, title, more) =>
  h(
    "label",
    { class: `field ${name}` },
    h("span", {}, title),
    h("input", { type: "search", spellcheck: "false", autocomplete: "off", ...more }),
  );

/** The form. It sends nothing: each field changes the address. */
export const filterForm = (...fields) =>
  h(
    "form",
    {
      class: "filters",
      "aria-label": "Filters",
      onsubmit: (event) => {
        event.preventDefault();
        document.activeElement.blur();
      },
    },
    fields,
    h("button", { type: "submit", class: "hidden" }, "Search"),
  );

export function filters(ctx, jobs) {
  const { params } = ctx;
  const put = (name, value) => go(link("jobs", { ...params, cursor: "", [name]: value.trim() }));
  const field = ([name, title, hint]) =>
    filterField(name, title, {
      value: params[name] ?? "",
      placeholder: hint,
      onchange: (event) => put(name, event.target.value),
      "aria-invalid": name === "older_than_s" && isWrong(params) ? "true" : null,
    });
  const chip = ([name, title]) =>
    params[name] &&
    h(
      "a",
      {
        class: "chip",
        href: link("jobs", { ...params, cursor: "", [name]: "" }),
      },
      h("span", {}, [title, valueOf(name, params)].filter(Boolean).join(": ")),
      h("span", { "aria-label": "remove" }, " ✕"),
    );
  const fields = h(
    "details",
    { class: "fields", open: hasFields, ontoggle: keepFields },
    h("summary", {}, "Fields"),
    h("div", { class: "filters" }, FILTERS.map(field)),
  );
  return filterForm(queryLine(ctx, jobs), fields, MORE.map(chip));
}
