// Tokens: with them programs use the API for a user. What is typed for a new one is in
// `ctx.state.form`, so that it stays while the page updates.
import { get, part, post, user } from "../api.js";
import { h } from "../dom.js";
import { ago, count, none } from "../format.js";
import { copyButton } from "../parts/copies.js";
import { act, ask, badge, button, empty, example, head, table, tell } from "../ui.js";

const RIGHTS = ["view", "operate", "push", "admin"];
const DAYS = [1, 7, 30, 90, 365];
const DAY_S = 24 * 3600;
const COLUMNS = [
  ["Token", "wide"],
  ["Rights"],
  ["Queues", "list"],
  ["Expires"],
  ["Last used"],
  ["", "acts"],
];

function edit(ctx) {
  ctx.state.form = { name: "", may: ["view"], queues: "*", days: 30, problem: "" };
  ctx.draw();
  document.getElementById("token-name").focus();
}

function close(ctx) {
  ctx.state.form = null;
  ctx.draw();
}

async function make(ctx) {
  const { form } = ctx.state;
  const { name, may, days } = form;
  const queues = form.queues.split(/[\s,]+/).filter(Boolean);
  try {
    const made = await post("tokens", { name, may, queues, expires_s: days * DAY_S });
    ctx.state.form = null;
    tell(
      `Token ${name}`,
      h("p", {}, "Store it now: it is not shown again. Send it as Authorization: Bearer."),
      example(made.token),
      h("p", {}, copyButton("Copy token", "token", () => made.token)),
    );
  } catch (error) {
    form.problem = error.message;
    return ctx.draw();
  }
  ctx.refresh();
}

async function revoke(ctx, { id, name }) {
  const agreed = await ask({
    title: `Revoke ${name}?`,
    text: "Programs that use it are refused from now on.",
    verb: "Revoke",
  });
  if (!agreed) return;
  await act(() => post(`tokens/${part(id)}/delete`), `${name} is revoked.`);
  ctx.refresh();
}

const field = (id, label, input) =>
  h("div", { class: "field" }, h("label", { for: id }, h("span", {}, label)), input);

function tokenForm(ctx) {
  const { form } = ctx.state;
  const text = (name, label) =>
    field(
      `token-${name}`,
      label,
      h("input", {
        id: `token-${name}`,
        type: "text",
        value: form[name],
        autocomplete: "off",
        spellcheck: "false",
        oninput: ({ target }) => {
          form[name] = target.value;
        },
      }),
    );
  const right = (each) =>
    h(
      "label",
      { class: "right" },
      h("input", {
        type: "checkbox",
        checked: form.may.includes(each),
        onchange: ({ target }) => {
          form.may = form.may.filter((other) => other !== each);
          if (target.checked) form.may.push(each);
        },
      }),
      ` ${each}`,
    );
  const days = h(
    "select",
    {
      id: "token-days",
      onchange: ({ target }) => {
        form.days = Number(target.value);
      },
    },
    DAYS.map((n) =>
      h("option", { value: `${n}`, selected: n === form.days }, n === 1 ? "1 day" : `${n} days`),
    ),
  );
  return h(
    "form",
    {
      class: "limits",
      "aria-label": "New token",
      onsubmit: (event) => {
        event.preventDefault();
        make(ctx);
      },
    },
    text("name", "Name"),
    text("queues", "Queues, such as mail*"),
    field("token-days", "Expires in", days),
    h("fieldset", { class: "field rights" }, h("legend", {}, "Rights"), RIGHTS.map(right)),
    form.problem && h("p", { class: "problem", role: "alert" }, form.problem),
    h(
      "div",
      { class: "buttons" },
      button("Cancel", () => close(ctx), { kind: "plain", key: "cancel", isLocal: true }),
      h("button", { type: "submit", class: "primary" }, "Make token"),
    ),
  );
}

const row = (ctx, token) =>
  h(
    "tr",
    { "data-key": token.id },
    h(
      "td",
      { class: "wide" },
      h("div", { class: "name" }, token.name),
      h("div", { class: "dim" }, token.id, token.user !== user?.name && `, of ${token.user}`),
    ),
    h("td", {}, token.may.join(", ")),
    h("td", { class: "list" }, token.queues.join(", ")),
    h("td", {}, token.has_expired ? badge("expired", "dead") : ago(token.expires_at)),
    h("td", {}, token.last_used_at === null ? none() : ago(token.last_used_at)),
    h(
      "td",
      { class: "acts" },
      button("Revoke", () => revoke(ctx, token), {
        kind: "small",
        label: `Revoke ${token.name}`,
        key: "revoke",
      }),
    ),
  );

export default {
  title: "Tokens",
  load: (_, signal) => get("tokens", {}, { signal }),
  render: (ctx, { tokens }) => [
    head(
      ["Tokens ", h("span", { class: "count" }, count(tokens.length))],
      button("New token…", () => edit(ctx), { kind: "plain", key: "new" }),
    ),
    ctx.state.form && h("section", { class: "form" }, tokenForm(ctx)),
    tokens.length > 0
      ? table("Tokens", COLUMNS, tokens.map((each) => row(ctx, each)), "cards")
      : empty("No tokens. With a token, a program uses the API for you, with fewer rights."),
    h(
      "p",
      { class: "dim" },
      "A token can do at most what its user can. Times of use are since the server started.",
    ),
  ],
};
