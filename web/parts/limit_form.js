// The form in which the limits of a queue or a type are edited. What is typed is in
// `ctx.state.form`, so that it stays while the page updates.
import { part, post } from "../api.js";
import { h } from "../dom.js";
import { count } from "../format.js";
import { button, notice } from "../ui.js";

const SLOTS_MAX = 1e6;
const SECONDS_MAX = 1e9;
/** Name, label, the most that is allowed. */
const FIELDS = [
  ["concurrency", "Jobs at a time", SLOTS_MAX],
  ["worker", "Jobs at a time for each worker", SLOTS_MAX],
  ["per_key", "Jobs at a time for each key", SLOTS_MAX],
  ["timeout_s", "Timeout in seconds", SECONDS_MAX],
  ["rate_count", "Rate limit in jobs", SLOTS_MAX],
  ["rate_s", "Rate period in seconds", SECONDS_MAX],
];

/** Limits in a queue, which a type has not. */
const OF_QUEUES = ["worker", "per_key"];
const isType = (name) => name.startsWith("type:");
const fieldsOf = (name) => FIELDS.filter(([each]) => !isType(name) || !OF_QUEUES.includes(each));

const typed = (values, name) => String(values[name] ?? "").trim();

/** The members of the request, and what is wrong with which field. */
export function read({ name: whose, values }) {
  const limits = {};
  const problems = {};
  if (whose === "") problems.name = "Which queue or type?";
  for (const [name, , max] of fieldsOf(whose)) {
    const text = typed(values, name);
    if (text === "") continue;
    limits[name] = Number(text);
    if (!/^\d+$/.test(text) || limits[name] < 1 || limits[name] > max)
      problems[name] = `A whole number from 1 to ${count(max)}`;
  }
  const has = (name) => typed(values, name) !== "";
  const limitsRuns = ["concurrency", "worker", "per_key"].some((name) => name in limits);
  if (limitsRuns && !has("timeout_s"))
    problems.timeout_s = "Required: a job that runs longer no longer counts";
  if (has("timeout_s") && !limitsRuns)
    problems.timeout_s = "Only with a limit of jobs at a time";
  if (has("rate_count") && !has("rate_s")) problems.rate_s = "Required with a number of jobs";
  if (has("rate_s") && !has("rate_count"))
    problems.rate_count = "Required with a number of seconds";
  return { limits, problems };
}

function close(ctx) {
  ctx.state.form = null;
  ctx.draw();
}

async function save(ctx) {
  const { form } = ctx.state;
  const { limits, problems } = read(form);
  form.wasSent = true;
  form.refusal = "";
  const [wrong] = Object.keys(problems);
  if (wrong) {
    ctx.draw();
    document.getElementById(`limit-${wrong}`)?.focus();
    return;
  }
  try {
    await post(`throttles/${part(form.name)}/set`, limits);
  } catch (error) {
    form.refusal = error.message;
    return ctx.draw();
  }
  ctx.state.form = null;
  notice(`The limits of ${form.name} are set.`);
  ctx.refresh();
}

function field(ctx, [name, label], { value, oninput, problem, ...more }) {
  const id = `limit-${name}`;
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, h("span", {}, label)),
    h("input", {
      id,
      value,
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      "aria-invalid": problem ? "true" : null,
      "aria-describedby": problem ? `${id}-problem` : null,
      oninput: (event) => {
        oninput(event.target.value);
        if (ctx.state.form.wasSent) ctx.draw();
      },
      ...more,
    }),
    problem && h("p", { class: "problem", id: `${id}-problem` }, problem),
  );
}

export function limitForm(ctx) {
  const { form } = ctx.state;
  const { limits, problems } = read(form);
  const shown = form.wasSent ? problems : {};
  const number = (each) =>
    field(ctx, each, {
      value: typed(form.values, each[0]),
      inputmode: "numeric",
      placeholder: each[0] === "timeout_s" ? "" : "no limit",
      problem: shown[each[0]],
      oninput: (text) => {
        form.values[each[0]] = text;
      },
    });
  return h(
    "form",
    {
      class: "limits",
      "aria-label": form.isNew ? "Limit a queue or a type" : `Limits of ${form.name}`,
      onsubmit: (event) => {
        event.preventDefault();
        save(ctx);
      },
    },
    form.isNew &&
      field(ctx, ["name", "Queue, or type: and a jobtype"], {
        value: form.name,
        placeholder: "mail, or type:Mail",
        problem: shown.name,
        oninput: (text) => {
          const wasType = isType(form.name);
          form.name = text.trim();
          if (isType(form.name) !== wasType) ctx.draw();
        },
      }),
    fieldsOf(form.name).map(number),
    h("p", { class: "dim" }, Object.keys(limits).length === 0 && "There will be no limits."),
    form.refusal && h("p", { class: "problem", role: "alert" }, form.refusal),
    h(
      "div",
      { class: "buttons" },
      button("Cancel", () => close(ctx), { kind: "plain", key: "cancel", isLocal: true }),
      h("button", { type: "submit", class: "primary" }, "Save"),
    ),
  );
}
