import { get, part } from "../api.js";
import { h } from "../dom.js";
import { ago, inChosen, inZone, none, span } from "../format.js";
import { runBars, runsInWords } from "../parts/outcomes.js";
import { link } from "../route.js";
import { button, facts, head, queueLink, section, table } from "../ui.js";
import { idleBadges, outcome, runNow, titleOf, turnEntry } from "./cron.js";

/** A run that is later than this says so. */
const LATE_S = 2;
const MISSED = {
  one: "the latest one runs, if it is at most an hour late",
  none: "are skipped",
  all: "all of them run, at most the latest 1,000",
};

/** The next runs, in the zone of the entry and in the reader's if that is another one. */
function plan({ next, time_zone: zone, is_enabled: isEnabled, is_paused: isPaused }) {
  if (next.length > 0) {
    const isSame = next.every((time) => inZone(time).textContent === inChosen(time).textContent);
    const row = (time) =>
      h(
        "tr",
        { "data-key": time },
        h("td", { class: "line" }, inZone(time)),
        !isSame && h("td", { class: "line" }, inChosen(time)),
        h("td", { class: "n dim" }, ago(time)),
      );
    const columns = [[zone], !isSame && ["Your time"], ["", "n"]].filter(Boolean);
    return table("Next runs", columns, next.map(row), "plan");
  }
  return h(
    "p",
    { class: "dim" },
    isPaused && "None while it is paused. ",
    !isEnabled && "None: the config file has enabled = false.",
    !isPaused && isEnabled && "None yet.",
  );
}

function late({ at, planned_at: planned }) {
  const seconds = (Date.parse(at) - Date.parse(planned)) / 1000;
  return seconds > LATE_S && h("span", { class: "dim" }, ` ${span(seconds)} late`);
}

const idOf = (jid) => (jid === null ? none() : h("code", {}, jid));

function run(each) {
  const { id, jid, problem } = each;
  return h(
    "tr",
    { "data-key": `${each.at} ${jid}` },
    h("td", { class: "line" }, ago(each.at), late(each)),
    h("td", { class: "line" }, each.is_by_hand ? "by hand" : "by schedule"),
    h("td", {}, each.state || each.outcome ? h("a", { href: link(`jobs/${id}`) }, jid) : idOf(jid)),
    h(
      "td",
      { class: "wide" },
      outcome(each),
      problem !== null && h("div", { class: "message" }, problem),
    ),
  );
}

export default {
  title: "Cron entry",
  titleOf: ({ args: [name] }, entry) => (entry ? titleOf(entry) : name),
  load: ({ args: [name], params }, signal) => get(`cron/${part(name)}`, params, { signal }),
  render(ctx, entry) {
    const actions = !ctx.mayOperate(entry.queue)
      ? []
      : [
          button("Run now", () => runNow(ctx, entry), { kind: "primary", key: "run" }),
          button(entry.is_paused ? "Resume" : "Pause", () => turnEntry(ctx, entry), {
            key: "pause",
          }),
        ];
    return [
      h("p", { class: "crumbs" }, h("a", { href: link("cron") }, "Cron")),
      head([titleOf(entry), idleBadges(entry)], ...actions),
      h(
        "div",
        { class: "pair" },
        section("Next runs", null, plan(entry)),
        section(
          "Details",
          null,
          facts([
            ["Schedule", h("code", {}, entry.schedule)],
            entry.words && ["In words", entry.words],
            ["Time zone", entry.time_zone],
            ["Type", entry.type],
            ["Queue", queueLink(entry.queue)],
            ["Missed runs", MISSED[entry.catch_up]],
            !entry.is_named && ["Generated name", h("code", {}, entry.name)],
          ]),
        ),
      ),
      section(
        "History",
        entry.recent.length > 0 &&
          h("div", { class: "dim" }, runsInWords(entry.recent), " ", runBars(entry.recent)),
        entry.runs.length > 0
          ? table(
              "Last runs",
              [["Run"], ["Trigger"], ["Job"], ["Outcome", "wide"]],
              entry.runs.map(run),
              "cards",
            )
          : h("p", { class: "dim" }, "It has not run yet."),
      ),
      section("Arguments", null, h("pre", {}, entry.args)),
      entry.custom && section("Custom", null, h("pre", {}, entry.custom)),
    ];
  },
};
