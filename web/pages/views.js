// Saved views: searches of jobs that people share, by name.
import { get, ifAllowed, nameOf, part, post } from "../api.js";
import { h } from "../dom.js";
import { count } from "../format.js";
import { parse } from "../query.js";
import { go, link, replace } from "../route.js";
import { act, acts, ask, button, empty, head, table } from "../ui.js";
import { filterField, filterForm, filterOf } from "./job_filters.js";

const NAME_MAX = 64;
const WHO = "Everyone who may see all queues can open it.";

export const viewLink = (name) => link(`views/${part(name)}`);

/** Null: there is none of that name, or the user may not see it. */
export const findView = (name, signal) =>
  ifAllowed("views", () => get(`views/${part(name)}`, {}, { signal })).catch((error) => {
    if (error.status === 404) return null;
    throw error;
  });

/** What the server answers, or null. It refuses what somebody else has changed meanwhile. */
const set = (name, query, was) =>
  act(() => post(`views/${part(name)}/set`, { query, was }), "View saved.");

async function saveAs(params, line) {
  const input = h("input", { id: "view-name", maxlength: String(NAME_MAX), autocomplete: "off" });
  const agreed = await ask({
    title: "Save this search as a view",
    text: WHO,
    more: h("p", {}, h("label", { for: "view-name" }, "Name"), " ", input),
    verb: "Save",
    kind: "primary",
  });
  const name = input.value.trim();
  if (agreed && name && (await set(name, line, "")))
    go(link("jobs", { ...params, cursor: "", view: name }));
}

async function remove(view, then) {
  const title = `Delete the view “${view.name}”?`;
  if (!(await ask({ title, text: "Jobs are not affected.", verb: "Delete" }))) return;
  const gone = await act(
    () => post(`views/${part(view.name)}/delete`, { was: view.query }),
    "View deleted.",
  );
  if (gone) then();
}

/** For the head of the Jobs page: the view of the address, and how to save the search there. */
export function viewActions(ctx, view, line, isFiltered) {
  const mayChange = ctx.mayOperate("*");
  return [
    h("a", { href: link("views") }, "Views"),
    view && h("a", { class: "chip", href: viewLink(view.name) }, `View: ${view.name}`),
    view &&
      view.query !== line &&
      mayChange &&
      button(
        "Save changes",
        async () => (await set(view.name, line, view.query)) && ctx.refresh(),
        { kind: "plain" },
      ),
    !view &&
      isFiltered &&
      mayChange &&
      button("Save view…", () => saveAs(ctx.params, line), { kind: "plain" }),
  ];
}

/** What the server finds wrong with the search, if it does. */
const refusal = ({ state, ...params }, signal) =>
  get(
    "jobs",
    { ...filterOf(params), state: state === "any" ? "" : state, limit: 1 },
    { signal },
  ).then(
    () => null,
    (error) => {
      if (error.status !== 400) throw error;
      return error.message;
    },
  );

const crumbs = () => h("p", { class: "crumbs" }, h("a", { href: link("views") }, "Saved views"));

/** The permanent address of a view. It leads to its jobs, unless its query is no longer valid. */
export const view = {
  title: "View",
  titleOf: ({ args: [name] }) => `View ${nameOf(name)}`,
  isStill: () => true,
  async load({ args: [name] }, signal) {
    const saved = await get(`views/${part(nameOf(name))}`, {}, { signal });
    const { params, problem = await refusal(params, signal) } = parse(saved.query);
    if (!problem) replace(link("jobs", { ...params, view: saved.name }));
    return { ...saved, problem };
  },
  render: (ctx, saved) => [
    crumbs(),
    head(
      saved.name,
      ctx.mayOperate("*") &&
        button("Delete", () => remove(saved, () => go(link("views"))), { kind: "danger" }),
    ),
    h("p", { class: "problem", role: "alert" }, `This view is not valid: ${saved.problem}.`),
    h("p", {}, h("code", {}, saved.query)),
  ],
};

export default {
  title: "Saved views",
  load: (_, signal) => get("views", {}, { signal }),
  render(ctx, { views, limit }) {
    const { match = "" } = ctx.params;
    const text = match.toLowerCase();
    const found = views.filter((each) => `${each.name} ${each.query}`.toLowerCase().includes(text));
    const row = (each) =>
      h(
        "tr",
        { "data-key": each.name },
        h("td", {}, h("a", { href: viewLink(each.name) }, each.name)),
        h("td", { class: "wide" }, h("code", {}, each.query)),
        acts(
          ctx,
          ctx.mayOperate("*") &&
            button("Delete", () => remove(each, ctx.refresh), {
              kind: "small danger",
              label: `Delete the view ${each.name}`,
              key: "delete",
            }),
        ),
      );
    return [
      h("p", { class: "crumbs" }, h("a", { href: link("jobs") }, "Jobs")),
      head(["Saved views ", h("span", { class: "count" }, `${count(views.length)} of ${limit}`)]),
      views.length > 0 &&
        filterForm(
          filterField("match", "Text", {
            value: match,
            placeholder: "name or query",
            oninput: ({ target }) => replace(link("views", { match: target.value })),
          }),
        ),
      found.length > 0
        ? table("Saved views", [["Name"], ["Query", "wide"], ["", "acts"]], found.map(row), "cards")
        : empty(
            views.length > 0
              ? `No view matches “${match}”.`
              : `No views yet. Search on the Jobs page, then save the search. ${WHO}`,
          ),
    ];
  },
};
