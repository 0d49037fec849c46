import { get, part, post } from "../api.js";
import { h } from "../dom.js";
import { ago, count, inZone, none, span } from "../format.js";
import { outcomeBadge, runBars } from "../parts/outcomes.js";
import { link } from "../route.js";
import {
  act,
  actsOn,
  ask,
  badge,
  button,
  empty,
  example,
  head,
  pager,
  queueLink,
  sign,
  stateBadge,
  table,
} from "../ui.js";

const LIMIT = 50;
const EXAMPLE = `[[cron]]
name = "nightly"
schedule = "30 2 * * *"
timezone = "Europe/Berlin"
[cron.job]
type = "Report"`;

/** An entry without a name goes by the type of its job. */
export const titleOf = ({ is_named: isNamed, name, type }) => (isNamed ? name : type);

/** What keeps an entry from running. */
export const idleBadges = ({ is_enabled: isEnabled, is_paused: isPaused }) => [
  isPaused && badge("paused", "paused"),
  !isEnabled && badge("disabled"),
];

/** What became of the job of a run. */
export function outcome({ id, state, problem, outcome: end, took_s: took }) {
  if (problem !== null) return [sign("✕", "bad"), h("span", { class: "bad" }, " refused")];
  if (state === null && end === null)
    return h("span", { class: "dim", title: "The outcome is unknown" }, "ended");
  const shown = state === null ? outcomeBadge(end) : stateBadge(state);
  return [h("a", { href: link(`jobs/${id}`) }, shown), took !== null && ` in ${span(took)}`];
}

export async function runNow(ctx, entry) {
  const title = titleOf(entry);
  const agreed = await ask({
    title: `Run ${title} now?`,
    text:
      `A job of type ${entry.type} is pushed to ${entry.queue} now. ` +
      "The schedule does not change.",
    verb: "Run now",
    kind: "primary",
  });
  if (!agreed) return;
  await act(
    () => post(`cron/${part(entry.name)}/run`),
    ({ id }) => `${title} has run: its job is ${id}.`,
  );
  ctx.refresh();
}

export async function turnEntry(ctx, entry) {
  const { name, is_paused: isPaused } = entry;
  await act(
    () => post(`cron/${part(name)}/${isPaused ? "resume" : "pause"}`),
    isPaused
      ? `${titleOf(entry)} is resumed. Missed runs are skipped.`
      : `${titleOf(entry)} is paused: it does not run until it is resumed.`,
  );
  ctx.refresh();
}

function row(ctx, entry) {
  const { name, last, next } = entry;
  const title = titleOf(entry);
  const act1 = (text, run, key) =>
    button(text, () => run(ctx, entry), { kind: "small", label: `${text} ${title}`, key });
  return h(
    "tr",
    { "data-key": name },
    h(
      "td",
      { class: "wide" },
      h("a", { href: link(`cron/${part(name)}`), class: "name", title: name }, title),
      idleBadges(entry),
      entry.is_named && h("div", { class: "dim" }, entry.type),
    ),
    h(
      "td",
      {},
      entry.words && h("div", { class: "fit" }, entry.words),
      " ",
      h("div", { class: "dim fit" }, h("code", {}, entry.schedule), ` ${entry.time_zone}`),
    ),
    h("td", {}, queueLink(entry.queue)),
    h(
      "td",
      { class: "line" },
      last
        ? [ago(last.at), " ", h("div", {}, outcome(last)), " ", runBars(entry.recent)]
        : none(),
    ),
    h(
      "td",
      { class: "line" },
      next[0] ? [ago(next[0]), " ", h("div", { class: "dim" }, inZone(next[0]))] : none(),
    ),
    actsOn(
      ctx,
      entry.queue,
      act1("Run now", runNow, "run"),
      act1(entry.is_paused ? "Resume" : "Pause", turnEntry, "pause"),
    ),
  );
}

export default {
  title: "Cron",
  load: ({ params }, signal) => get("cron", { ...params, limit: LIMIT }, { signal }),
  render(ctx, { entries, total, next }) {
    return [
      head(["Cron ", total !== null && h("span", { class: "count" }, count(total))]),
      entries.length > 0
        ? table(
            "Cron entries",
            [["Entry", "wide"], ["Schedule"], ["Queue"], ["Last runs"], ["Next run"], ["", "acts"]],
            entries.map((each) => row(ctx, each)),
            "cards cron",
          )
        : total !== 0
          ? empty("No more entries.")
          : empty(
              "No job has a schedule. Add an entry to the config file, or to a file in " +
                "conf.d, and send SIGHUP:",
              example(EXAMPLE),
            ),
      pager("cron", ctx.params, next),
      total !== 0 &&
        h(
          "p",
          { class: "dim" },
          "Entries are set in the config files: edit them there, and send SIGHUP. ",
          "Pauses and the last runs survive restarts. Disabled entries can be run by hand.",
        ),
    ];
  },
};
