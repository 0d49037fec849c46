import { get, part, post } from "../api.js";
import { h } from "../dom.js";
import { count, plural, span } from "../format.js";
import {
  act,
  acts,
  ask,
  badge,
  button,
  empty,
  example,
  figure,
  head,
  jobsLink,
  pager,
  queueLink,
  table,
  throttledBadge,
} from "../ui.js";
import { limitForm } from "../parts/limit_form.js";
import { limitsText } from "../parts/limits.js";

const LIMIT = 100;
const EXAMPLE = `[throttles]
mail = { concurrency = 4, timeout = 60 }
api = { rate = { count = 100, per = 60 } }
tenants = { per_key = 2, timeout = 60 }
"type:Mail" = { concurrency = 3, timeout = 60 }`;
const COLUMNS = [
  ["Queue or type", "wide"],
  ["Limits", "list"],
  ["Set by"],
  ["Running", "n"],
  ["Free", "n"],
  ["Ready", "n"],
  ["Clients waiting", "n"],
  ["Handed out", "n"],
  ["", "acts"],
];

/** Opens the form for a queue or a type; the empty name: for one that is yet to be named. */
function edit(ctx, name, limits = {}) {
  ctx.state.form = { name, isNew: name === "", values: { ...limits }, problems: {} };
  ctx.draw();
  document.querySelector("main form input")?.focus();
}

async function reset(ctx, { name, rule }) {
  const agreed = await ask({
    title: `Reset the limits of ${name}?`,
    text: rule
      ? `The limits of the config file apply again: ${limitsText(rule.limits)}.`
      : "The config file has no limits for it: it will have none.",
    verb: "Reset",
    kind: "primary",
  });
  if (!agreed) return;
  await act(() => post(`throttles/${part(name)}/reset`), `The limits of ${name} are reset.`);
  ctx.refresh();
}

/** A queue with its jobs, or a type. */
const nameOf = ({ queue, type }) =>
  queue === null ? ["type ", h("code", { class: "fit" }, type)] : queueLink(queue);

function row(ctx, each) {
  const { name, queue, limits, rule, is_by_hand: isByHand } = each;
  const { timeout_s: timeout } = limits;
  const act1 = (text, run, key) =>
    button(text, run, { kind: "small", label: `${text} the limits of ${name}`, key });
  return h(
    "tr",
    { "data-key": name },
    h("td", { class: "wide" }, nameOf(each), throttledBadge(each)),
    h(
      "td",
      { class: "list" },
      limitsText(limits),
      timeout && h("div", { class: "dim" }, `timeout ${count(timeout)} s`),
    ),
    h(
      "td",
      { class: "line" },
      isByHand ? badge("by hand") : "config file",
      !isByHand &&
        rule.pattern !== name && [" ", h("div", {}, h("code", { class: "fit" }, rule.pattern))],
    ),
    figure(each.taken === null ? "–" : count(each.taken)),
    figure(each.free === null ? "any" : count(each.free)),
    figure(
      queue === null
        ? "–"
        : jobsLink(each.ready, { state: "ready", queue }, "ready job", ` of ${queue}`),
      each.keys !== null && h("div", { class: "dim" }, plural(each.keys, "key")),
    ),
    figure(queue === null ? "–" : count(each.waiting)),
    figure(
      count(each.held),
      each.overage > 0 && h("div", { class: "bad" }, `${count(each.overage)} overdue`),
      each.reclaimed > 0 && h("div", { class: "dim" }, `${count(each.reclaimed)} reclaimed`),
      each.held_p50_s !== null && [
        h("div", { class: "dim" }, `p50 ${span(each.held_p50_s)}`),
        h("div", { class: "dim" }, `p95 ${span(each.held_p95_s)}`),
      ],
    ),
    acts(
      ctx,
      act1("Edit", () => edit(ctx, name, limits), "edit"),
      isByHand && act1("Reset", () => reset(ctx, each), "reset"),
    ),
  );
}

function formRow(ctx, name) {
  return h(
    "tr",
    { "data-key": `form ${name}`, class: "on" },
    h("td", { class: "wide form", colspan: String(COLUMNS.length) }, limitForm(ctx)),
  );
}

const ruleRow = ({ pattern, limits }) =>
  h(
    "tr",
    { "data-key": pattern },
    h("td", { class: "wide" }, h("code", {}, pattern)),
    h("td", { class: "list" }, limitsText(limits)),
    figure(limits.timeout_s ? `${count(limits.timeout_s)} s` : "–"),
  );

function queues(ctx, { throttles, total }, hasRules) {
  const { form } = ctx.state;
  if (throttles.length > 0)
    return table(
      "Queues and types with limits",
      COLUMNS,
      throttles.flatMap((each) => [
        row(ctx, each),
        ...(form && form.name === each.name && !form.isNew ? [formRow(ctx, each.name)] : []),
      ]),
      "cards",
    );
  if (total > 0) return empty("No more queues or types.");
  if (hasRules) return empty("No queue or type matches the limits of the config file yet.");
  return empty(
    "Nothing is limited. Limit a queue or a type here, or write limits into the config file and ",
    "send SIGHUP:",
    example(EXAMPLE),
  );
}

export default {
  title: "Throttles",
  async load({ params: { cursor, rules, ...more } }, signal) {
    const [queues, config] = await Promise.all([
      get("throttles", { ...more, limit: LIMIT, cursor }, { signal }),
      get("throttle-rules", { limit: LIMIT, cursor: rules }, { signal }),
    ]);
    return { queues, config };
  },
  render(ctx, all) {
    const { params } = ctx;
    const { rules, total, next } = all.config;
    return [
      head(
        ["Throttles ", h("span", { class: "count" }, count(all.queues.total))],
        !ctx.isReadOnly &&
          button("Add limits…", () => edit(ctx, ""), { kind: "plain", key: "new" }),
      ),
      ctx.state.form?.isNew && h("section", { class: "form" }, limitForm(ctx)),
      queues(ctx, all.queues, total > 0),
      pager("throttles", params, all.queues.next),
      h(
        "p",
        { class: "dim" },
        "Limits set by hand survive restarts, and override the config file until they are reset. ",
        "SIGHUP reads the config file again, for all others.",
      ),
      all.queues.total > 0 &&
        h(
          "p",
          { class: "dim" },
          "Jobs counted since the limits took effect, or since startup. ",
          "Slot time since startup: p50, p95.",
        ),
      all.queues.throttles.some(({ overage, reclaimed }) => overage + reclaimed > 0) &&
        h(
          "p",
          { class: "dim" },
          "Overdue jobs run longer than the timeout. They no longer count, so other jobs may have ",
          "started. Reclaimed slots belonged to workers that are gone.",
        ),
      total > 0 && [
        h("h2", {}, "In the config file ", h("span", { class: "count" }, count(total))),
        table(
          "Limits of the config file",
          [["Queue, type or pattern", "wide"], ["Limits of each", "list"], ["Timeout", "n"]],
          rules.map(ruleRow),
          "cards",
        ),
        pager("throttles", params, next, null, "rules"),
      ],
    ];
  },
};
