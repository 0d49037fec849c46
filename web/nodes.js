// The servers that share a log, on the overview page.
import { h } from "./dom.js";
import { ago, bytes, count, none, plural, span } from "./format.js";
import { badge, facts, figure, section, sign, table } from "./ui.js";

const CAUSES = {
  first: "first leader of this log",
  handed_over: "handed over",
  lease_over: "the lease ran out",
};

/** Within a lease and the time between two reports, everybody is about as far. */
const LAG_S = 3;

const portNames = ({ out_of_reach: ports }) =>
  ports.map((port) => port.split("=")[0]).join(", ");

function state(node) {
  if (node.is_silent) return badge(`silent for ${span(node.heard_seconds)}`, "dead", "✕");
  if (node.has_namesake) return badge("name used twice", "dead", "▲");
  if (node.problem) return badge("cannot reach the log", "dead", "▲");
  if (node.out_of_reach) return badge(`cannot relay ${portNames(node)}`, "dead", "▲");
  if (node.role === "leader") return badge("leads", "reserved", "▶");
  if (node.lag_seconds > LAG_S) return badge("behind", "paused", "◷");
  return badge("follows", "ready", "●");
}

const behind = ({ role, lag_messages: messages, lag_seconds: seconds }) =>
  role === "leader"
    ? figure(none())
    : figure(`${plural(messages, "message")}${seconds === null ? "" : `, ${span(seconds)}`}`);

function lease({ lease: { seconds, left_seconds: left } }, { role }) {
  if (role !== "leader" || left === null) return figure(none());
  return figure(`${span(left)} of ${span(seconds)}`);
}

const row = (cluster, node) =>
  h(
    "tr",
    { "data-key": node.node },
    h("td", { class: "wide" }, h("strong", {}, node.node)),
    h("td", {}, state(node)),
    behind(node),
    lease(cluster, node),
    h("td", {}, node.addresses.web ?? Object.values(node.addresses)[0] ?? none()),
    h("td", {}, node.version || none()),
  );

function nodes(cluster) {
  const there = cluster.nodes.filter((node) => !node.is_silent);
  return section(
    "Nodes",
    h("span", { class: "dim" }, `${plural(there.length, "node")}, epoch ${cluster.epoch}`),
    table(
      "Servers that share the log",
      [
        ["Node", "wide"],
        ["State"],
        ["Behind", "n"],
        ["Lease left", "n"],
        ["Web address"],
        ["Version"],
      ],
      cluster.nodes.map((node) => row(cluster, node)),
      "cards",
    ),
    engine(cluster.engine),
  );
}

const engine = (log) =>
  facts([
    ["Log", log.url],
    ["Engine", log.is_reachable ? "reachable" : h("span", { class: "bad" }, log.problem)],
    ["Last append", `${span(log.last_append_seconds)}, ${count(log.in_flight)} in flight`],
    ["On this disk", bytes(log.cache_bytes)],
  ]);

const takeover = (each) =>
  h(
    "li",
    { class: "plain", "data-key": String(each.epoch) },
    sign(each.cause === "lease_over" ? "▲" : "⇄"),
    h(
      "span",
      {},
      ago(each.at),
      ": ",
      h("strong", {}, each.to ?? "a node"),
      each.from ? [" took over from ", h("strong", {}, each.from)] : " took the lead",
      `: ${CAUSES[each.cause]}`,
      each.gap_seconds !== null && `, at most ${span(each.gap_seconds)} without a leader`,
      ".",
    ),
  );

const takeovers = (all) =>
  section(
    "Last takeovers",
    null,
    all.length === 0
      ? h("p", { class: "empty" }, "None in the part of the log that is kept.")
      : h(
          "div",
          { class: "takeovers", tabindex: "0", role: "region", "aria-label": "Last takeovers" },
          h("ul", { class: "attention" }, all.map(takeover)),
        ),
  );

/** Nothing where the log is not shared. */
export const clusterSections = ({ cluster }) =>
  cluster && h("div", { class: "pair nodes" }, nodes(cluster), takeovers(cluster.takeovers));
