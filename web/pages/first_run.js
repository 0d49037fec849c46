// What the overview shows until the first job is done: where to connect, and how.
import { get, isReadOnly, post } from "../api.js";
import { h } from "../dom.js";
import { act, button, example, facts, section, sign } from "../ui.js";
import { CLIENTS, TEST_JOB } from "./first_programs.js";

/** How to reach a port: the host of this page where the server listens on all addresses. */
function reach(address) {
  const found = /^(.*):(\d+)$/.exec(address ?? "");
  if (!found || found[2] === "0") return address;
  const isAny = ["", "0.0.0.0", "[::]"].includes(found[1]);
  return `${isAny ? location.hostname : found[1]}:${found[2]}`;
}

function addresses(options) {
  const of = (wanted) => options.find(({ name }) => name === wanted)?.value;
  const isOn = (port) => of(port) && of(port) !== "off";
  const scheme = of("tls") === "yes" ? "tcp+tls" : "tcp";
  const secret = of("password") === "none" ? "" : ":PASSWORD@";
  return {
    url: isOn("faktory") && `${scheme}://${secret}${reach(of("faktory"))}`,
    beanstalk: isOn("beanstalk") && reach(of("beanstalk")),
  };
}

const sum = (jobs) => Object.values(jobs).reduce((all, n) => all + n, 0);

/** True for a server that has done nothing yet. */
const isNew = ({ jobs, totals }) => totals.processed === 0 && totals.failed === 0 && sum(jobs) <= 3;

/** What has been reached: [is it, what it is called]. */
function steps({ jobs, totals, workers, connections }) {
  const isDone = totals.processed > 0;
  const hasWorker = isDone || workers > 0 || jobs.reserved > 0;
  return [
    [connections.faktory + connections.beanstalk > 0 || hasWorker, "A client is connected"],
    [isDone || sum(jobs) > 0, "A job has arrived"],
    [hasWorker, "A worker is connected"],
    [isDone, "A job is done"],
  ];
}

/** Options of the server while it is new, else null. */
export async function loadFirstRun({ state }, overview, signal) {
  // Who may not see all queues does not set up the server.
  state.isFirstRun ||= overview.today && isNew(overview) && !state.isClosed;
  return state.isFirstRun ? (await get("server", {}, { signal })).options : null;
}

export function firstRun(ctx, overview, options) {
  const { state } = ctx;
  const { url, beanstalk } = addresses(options);
  const usable = CLIENTS.filter(([name]) => (name === "Ruby" ? beanstalk : url));
  const [language, install, program] =
    usable.find(([name]) => name === state.language) ?? usable[0] ?? [];
  const all = steps(overview);
  const isOver = all.every(([isReached]) => isReached);
  const choose = ([name]) =>
    button(
      name,
      () => {
        state.language = name;
        ctx.draw();
      },
      { kind: name === language ? "small on" : "small plain", key: name, isLocal: true },
    );
  const push = () =>
    act(() => post("jobs", TEST_JOB), ({ id }) => `Job ${id} was pushed to the queue default.`)
      .then(ctx.refresh);
  const close = () => {
    state.isFirstRun = false;
    state.isClosed = true;
    ctx.draw();
  };
  return section(
    isOver ? "All parts work together" : "First steps",
    h(
      "div",
      { class: "actions" },
      !isReadOnly && !isOver && button("Push a test job", push, { key: "push", kind: "primary" }),
      button("Close", close, { key: "close", kind: "plain", isLocal: true }),
    ),
    h(
      "ol",
      { class: "steps" },
      all.map(([isReached, what]) =>
        h(
          "li",
          {},
          sign(isReached ? "✓" : "○", isReached ? "good" : ""),
          ` ${what}`,
          h("span", { class: "hidden" }, isReached ? ": yes" : ": not yet"),
        ),
      ),
    ),
    facts([
      url && ["Faktory clients", h("code", {}, url)],
      beanstalk && ["beanstalk clients", h("code", {}, beanstalk)],
    ]),
    language && [
      h(
        "div",
        { class: "languages", role: "group", "aria-label": "Client library" },
        usable.map(choose),
      ),
      h("p", { class: "dim" }, h("code", {}, install)),
      h(
        "div",
        { class: "snippet", tabindex: "0", role: "region", "aria-label": `Program in ${language}` },
        example(program(url, beanstalk)),
      ),
    ],
  );
}
