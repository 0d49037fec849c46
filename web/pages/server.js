import { get } from "../api.js";
import { h } from "../dom.js";
import { age, bytes, count, span } from "../format.js";
import { link } from "../route.js";
import { facts, head, table } from "../ui.js";

function share(part, whole) {
  if (!whole) return bytes(part);
  const percent = Math.round((part / whole) * 100);
  return `${bytes(part)} of ${bytes(whole)}${percent ? `, ${percent}\u00a0%` : ""}`;
}

function journal(all) {
  if (!all)
    return h("p", { class: "empty" }, "The server keeps no journal: a restart loses all jobs.");
  const mean = all.commits ? all.commit_seconds / all.commits : null;
  return facts([
    ["Size", bytes(all.bytes)],
    ["Segments", count(all.segments)],
    ["Waiting for the disk", bytes(all.waiting_bytes)],
    ["Log batches", count(all.commits)],
    ["Mean commit time", mean === null ? null : span(mean)],
    ["Disk free", share(all.disk_free_bytes, all.disk_total_bytes)],
  ]);
}

/** Without threads of their own, the main thread has them all. */
function ioThreads(all) {
  const own = all.filter(({ thread }) => thread !== "main");
  if (own.length === 0) return [];
  return [
    h("h2", {}, "I/O threads"),
    table(
      "I/O threads",
      [["Thread"], ["Connections", "n"], ["Received", "n"], ["Sent", "n"], ["CPU time", "n"]],
      own.map((each) =>
        h(
          "tr",
          { "data-key": each.thread },
          h("td", {}, h("code", {}, each.thread)),
          h("td", { class: "n" }, count(each.connections)),
          h("td", { class: "n" }, bytes(each.received_bytes)),
          h("td", { class: "n" }, bytes(each.sent_bytes)),
          h("td", { class: "n" }, span(each.processor_seconds)),
        ),
      ),
    ),
  ];
}

export default {
  title: "Server",
  load: ({ params }, signal) => get("server", params, { signal }),
  render(_, all) {
    const api = new URL("api/v1/openapi.json", document.baseURI).href;
    const metrics = new URL("metrics", document.baseURI).href;
    return [
      head("Server"),
      facts([
        ["Version", all.version],
        ["Host", `${all.hostname}, process ${all.pid}`],
        ["Uptime", age(all.started_at)],
        ["Memory", share(all.memory_bytes, all.memory_total_bytes)],
        ["Memory of jobs", share(all.job_memory_bytes, all.job_memory_bytes_max)],
        ["beanstalk connections", count(all.connections.beanstalk)],
        ["Faktory connections", count(all.connections.faktory)],
      ]),
      ...ioThreads(all.io_threads),
      h("h2", {}, "Journal"),
      journal(all.journal),
      h("h2", {}, "Effective options"),
      table(
        "Options",
        [["Option"], ["Value", "wide"]],
        all.options.map(({ name, value }) =>
          h(
            "tr",
            { "data-key": name },
            h("td", {}, h("code", {}, name)),
            h("td", { class: "wide" }, value),
          ),
        ),
      ),
      h("h2", {}, "For monitoring and programs"),
      h(
        "p",
        {},
        h("a", { href: link("alerts") }, "Alerts"),
        " that this server sends, ",
        h("a", { href: metrics }, "/metrics"),
        " for Prometheus, ",
        h("a", { href: new URL("stats", document.baseURI).href }, "/stats"),
        " and ",
        h("a", { href: new URL("health", document.baseURI).href }, "/health"),
        " for monitoring, ",
        h("a", { href: api }, "the OpenAPI description"),
        " for programs.",
      ),
    ];
  },
};
