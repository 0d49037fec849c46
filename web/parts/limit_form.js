// The form in which the limits of a queue are edited. What is typed is in `ctx.state.form`, so that
// it stays while the page updates.
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
  ["timeout_s", "Timeout in seconds", SECONDS_MAX],
  ["rate_count", "Jobs that may begin", SLOTS_MAX],
  ["rate_s", "in so many seconds", SECONDS_MAX],
];

const typed = (values, name) => String(values[name] ?? "").trim();

/** The members of the request, and what is wrong with which field. */
export function read({ queue, values }) {
  const limits = {};
  const problems = {};
  if (queue === "") problems.queue = "Which queue?";
  for (const [name, , max] of FIELDS) {
    const text = typed(values, name);
    if (text === "") continue;
    limits[name] = Number(text);
    if (!/^\d+$/.test(text) || limits[name] < 1 || limits[name] > max)
      problems[name] = `A whole number from 1 to ${count(max)}`;
  }
  const has = (name) => typed(values, name) !== "";
  if ((has("concurrency") || has("worker")) && !has("timeout_s"))
    problems.timeout_s = "Required: a job that runs longer no longer counts";
  if (has("timeout_s") && !has("concurrency") && !has("worker"))
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
    await post(`throttles/${part(form.queue)}/set`, limits);
  } catch (error) {
    form.refusal = error.message;
    return ctx.draw();
  }
  ctx.state.form = null;
  notice(`The limits of ${form.queue} are set.`);
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
      "aria-label": form.isNew ? "Limit a queue" : `Limits of ${form.queue}`,
      onsubmit: (event) => {
        event.preventDefault();
        save(ctx);
      },
    },
    form.isNew &&
      field(ctx, ["queue", "Queue"], {
        value: form.queue,
        problem: shown.queue,
        oninput: (text) => {
          form.queue = text.trim();
        },
      }),
    FIELDS.map(number),
    h("p", { class: "dim" }, Object.keys(limits).length === 0 && "The queue will have no limits."),
    form.refusal && h("p", { class: "problem", role: "alert" }, form.refusal),
    h(
      "div",
      { class: "buttons" },
      button("Cancel", () => close(ctx), { kind: "plain", key: "cancel", isLocal: true }),
      h("button", { type: "submit", class: "primary" }, "Save"),
    ),
  );
}
