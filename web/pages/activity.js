// The last changes of people and administrators' programs.
import { get } from "../api.js";
import { h } from "../dom.js";
import { ago, count, none } from "../format.js";
import { link } from "../route.js";
import { badge, empty, figure, head, pager, queueLink, table } from "../ui.js";
import { ACTIONS } from "../parts/actions.js";

const LIMIT = 100;

const COLUMNS = [["When", "n"], ["Action"], ["Target", "wide"], ["Changed", "n"], ["From"]];

function target({ action, target: name }) {
  if (!name) return null;
  const [kind] = action.split("/");
  if (kind === "queues" || kind === "throttles") return queueLink(name);
  if (kind === "jobs" || kind === "locks") return h("a", { href: link(`jobs/${name}`) }, name);
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

const row = (change) =>
  h(
    "tr",
    { "data-key": String(change.number) },
    figure(ago(change.at)),
    h("td", { class: "line" }, ACTIONS[change.action] ?? change.action),
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
      h("div", { class: "dim" }, h("span", { class: "name" }, change.from)),
      change.page && askedOn(change.page),
    ),
  );

export default {
  title: "Activity",
  load: ({ params }, signal) => get("activity", { ...params, limit: LIMIT }, { signal }),
  render({ params }, { changes, next }) {
    return [
      head("Activity"),
      h(
        "p",
        { class: "dim" },
        "The last 1,000 changes by this UI, the JSON API, and MUTATE, FLUSH and QUEUE of Faktory ",
        "clients, and alerts that were sent. Pushes from clients are not listed. A crash loses ",
        "the changes of the last 30 s.",
      ),
      changes.length > 0
        ? table("Changes", COLUMNS, changes.map(row), "cards")
        : empty("No more changes."),
      pager("activity", params, next),
    ];
  },
};
