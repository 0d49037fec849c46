// Alerts that are sent to others: what fires, silences, tests.
import { get, part, post, serverNow } from "../api.js";
import { h } from "../dom.js";
import { ago, count, none } from "../format.js";
import { act, acts, ask, badge, button, empty, example, head, table } from "../ui.js";

const HOUR_S = 3600;
const SILENCES = [
  [HOUR_S, "for an hour"],
  [8 * HOUR_S, "for 8 hours"],
  [24 * HOUR_S, "for a day"],
  [7 * 24 * HOUR_S, "for a week"],
];
const EXAMPLE = `[[alert]]
name = "night"
url = "https://hooks.example.com/millrace"
on = ["disk", "full", "abandoned", { queue = "mail*", latency = "5m" }]`;
const COLUMNS = [["Alert"], ["Receiver"], ["Conditions", "wide"], ["Last message"], ["", "acts"]];
const STATES = { ok: ["ok"], pending: ["pending", "retrying"], firing: ["firing", "dead"] };

async function silence(ctx, { name }) {
  const options = SILENCES.map(([seconds, words]) => h("option", { value: `${seconds}` }, words));
  const choice = h("select", { id: "silence" }, options);
  const agreed = await ask({
    title: `Silence ${name}?`,
    text: "No messages are sent until the silence ends.",
    more: h("p", {}, h("label", { for: "silence" }, "Silence it"), " ", choice),
    verb: "Silence",
    kind: "primary",
  });
  if (!agreed) return;
  const seconds = Number(choice.value);
  await act(() => post(`alerts/${part(name)}/silence`, { seconds }), `${name} is silenced.`);
  ctx.refresh();
}

async function change(ctx, { name }, what, said) {
  await act(() => post(`alerts/${part(name)}/${what}`), said);
  ctx.refresh();
}

const condition = ({ condition: name, state, since, text, is_delivered: isDelivered }) =>
  h(
    "div",
    {},
    badge(...STATES[state]),
    " ",
    name,
    since && [" ", h("span", { class: "dim" }, ago(since))],
    state === "firing" && !isDelivered && [" ", h("span", { class: "bad" }, "not delivered yet")],
    text && h("div", { class: "dim message" }, text),
  );

const lastMessage = ({ last }) =>
  last
    ? [
        h("div", {}, `${last.condition}, ${last.status}`),
        h("div", { class: "dim" }, ago(last.at)),
        last.problem
          ? h("div", { class: "bad message" }, `Not sent: ${last.problem}`)
          : h("div", { class: "dim" }, "delivered"),
      ]
    : none();

function row(ctx, alert) {
  const { name, silenced_until: silenced } = alert;
  const isSilenced = silenced && Date.parse(silenced) > serverNow();
  const act1 = (text, run, key) =>
    button(text, run, { kind: "small", label: `${text} ${name}`, key });
  return h(
    "tr",
    { "data-key": name },
    h(
      "td",
      {},
      h("div", { class: "name" }, name),
      h("div", { class: "dim" }, `for ${count(alert.for_s)} s`),
      isSilenced && badge(["silenced, ends ", ago(silenced)]),
    ),
    h(
      "td",
      {},
      h("div", { class: "name" }, alert.receiver),
      h("div", { class: "dim" }, alert.form),
    ),
    h("td", { class: "wide" }, alert.conditions.map(condition)),
    h("td", {}, lastMessage(alert)),
    acts(
      ctx,
      act1("Test", () => change(ctx, alert, "test", `A test of ${name} is being sent.`), "test"),
      isSilenced
        ? act1("End silence", () => change(ctx, alert, "unsilence"), "end")
        : act1("Silence…", () => silence(ctx, alert), "silence"),
    ),
  );
}

export default {
  title: "Alerts",
  load: (_, signal) => get("alerts", {}, { signal }),
  render(ctx, { alerts, sent, failed }) {
    return [
      head(["Alerts ", h("span", { class: "count" }, count(alerts.length))]),
      alerts.length > 0
        ? table("Alerts", COLUMNS, alerts.map((each) => row(ctx, each)), "cards")
        : empty("No alerts. Add one to the config file, then send SIGHUP:", example(EXAMPLE)),
      alerts.length > 0 &&
        h(
          "p",
          { class: "dim" },
          `Messages delivered since startup: ${count(sent)}, given up: ${count(failed)}. `,
          "A test sends a firing and a resolved message.",
        ),
    ];
  },
};
