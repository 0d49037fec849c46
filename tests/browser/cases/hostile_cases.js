// What other people's jobs and pages may try: scripts in every text that a client can set, and
// requests from another site to the job ports.
import assert from "node:assert/strict";
import http from "node:http";
import { Faktory } from "../clients.js";
import { LATE, beanstalk, counts, faktory } from "../helpers.js";

const RUN = "window.owned=1";

/** Each would make an element or attribute `data-owned`, or run, where it is not escaped. */
const PAYLOADS = [
  `<script data-owned>${RUN}</script>`,
  `"><img data-owned src=x onerror=${RUN}>`,
  `'><svg data-owned onload=${RUN}>`,
  `" data-owned="1" onmouseover="${RUN}`,
  `' data-owned='1' onfocus='${RUN}' autofocus='`,
  `x data-owned=1 onclick=${RUN} y`,
  `javascript:${RUN}//`,
  `java\tscript:${RUN}//`,
  `data:text/html,<script data-owned>${RUN}</script>`,
  `</title></textarea></script><script data-owned>${RUN}</script>`,
  `--><script data-owned>${RUN}</script><!--`,
  `]]><script data-owned>${RUN}</script>`,
  `<iframe data-owned srcdoc="<script>parent.${RUN}</script>"></iframe>`,
  `<a data-owned href="javascript:${RUN}">a</a><base data-owned href="//evil.example/">`,
  `<meta data-owned http-equiv=refresh content="0;url=javascript:${RUN}">`,
  `<form data-owned action=javascript:${RUN}><button data-owned>go</button></form>`,
  `<details data-owned open ontoggle=${RUN}><link data-owned rel=stylesheet href=//evil.example/>`,
  `<math data-owned><mi data-owned xlink:href="javascript:${RUN}">a</mi></math>`,
  `<template data-owned><script data-owned>${RUN}</script></template>`,
  `\${${RUN}}{{constructor.constructor('${RUN}')()}}#{${RUN}}<%=${RUN}%>`,
  `";${RUN};//';${RUN};//\\";${RUN};//\`;${RUN};//`,
  `\u2028${RUN}\u2029//\u0085\u202e<img data-owned>\u2066\ufeff`,
  `&lt;img data-owned src=x onerror=${RUN}&gt;&quot;&#39;&#60;script&#62;`,
  `%3Cimg%20data-owned%3E%22%27+\\u003cimg data-owned\\u003e\\x3cimg data-owned\\x3e`,
  `\u0000<\u0000script data-owned>${RUN}</script>`,
  `__proto__`,
];

/** Those that a config file may have as a name. */
// eslint-disable-next-line no-control-regex
const NAMES = PAYLOADS.filter((payload) => !/[\u0000-\u001f]/.test(payload));

const TUBES = ["$(owned);+-/", "javascript/owned", "__proto__", "constructor", "a.$owned_"];

/** What of it became part of the document, or ran. */
const injected = (page) =>
  page.evaluate(() => {
    const found = [];
    if (window.owned !== undefined) found.push("a script ran");
    if ({}.owned !== undefined || {}.data !== undefined) found.push("a prototype was changed");
    found.push(...(window.violations ?? []));
    const isUrl = /^(href|src|action|formaction|srcdoc|xlink:href|data)$/;
    const visit = (node) => {
      for (const { name, value } of node.attributes) {
        // eslint-disable-next-line no-control-regex
        const url = value.replace(/[\u0000-\u0020]/g, "");
        if (/^on|^data-owned$/i.test(name)) found.push(`${name} of ${node.outerHTML}`);
        if (isUrl.test(name) && /^(javascript|data|vbscript):/i.test(url))
          found.push(`${name} of ${node.outerHTML}`);
      }
      for (const each of [node.shadowRoot, node.content])
        if (each instanceof DocumentFragment) each.querySelectorAll("*").forEach(visit);
    };
    document.querySelectorAll("*").forEach(visit);
    return found;
  });

/** Watches the page from now on; the list gets what it tried. */
async function watch({ page, server }) {
  const tried = [];
  page.on("dialog", (dialog) => {
    tried.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("popup", (popup) => tried.push(`a window: ${popup.url()}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(server.base)) tried.push(`a request: ${url}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => {
      window.violations.push(`${event.violatedDirective}: ${event.blockedURI}`);
    });
  });
  return tried;
}

async function look(test, target) {
  await test.open(target);
  await test.page.locator("main:not([aria-busy=true]) > :not(.loading)").first().waitFor();
  assert.deepEqual(await injected(test.page), [], target);
  return test.page.locator("body").innerText();
}

/** Jobs in all states, with the payload wherever a client may say something. */
async function fillWith(test, payload, number) {
  const client = await faktory(test);
  const id = `${payload}-${number}`;
  const more = { custom: { [payload]: payload, n: { [payload]: [payload] } }, [payload]: payload };
  const args = [payload, { [payload]: 1 }];
  const job = (state) => [`${state}-${id}`, payload, `queue-${number}`, args];
  await client.push(...job("ready"), more);
  await client.push(...job("later"), { ...more, at: LATE });
  const failure = { errtype: payload, message: payload, backtrace: [payload, payload] };
  for (const [state, retry] of [
    ["retrying", 25],
    ["dead", -1],
    ["held", 25],
  ]) {
    const [jid, type, queue] = job(state);
    const custom = { ...more.custom, track: 1 };
    await client.push(jid, type, `${state}-${queue}`, args, { ...more, custom, retry });
    await client.fetch(`${state}-${queue}`);
    await client.command("TRACK", `SET ${JSON.stringify({ jid, percent: 1, desc: payload })}`);
    if (state !== "held") await client.command("FAIL", { jid, ...failure });
  }
  const worker = new Faktory(test.server.faktory);
  test.clients.push(worker);
  await worker.line();
  const labels = [payload, `${payload}2`];
  await worker.command("HELLO", { v: 2, wid: id, hostname: payload, pid: 7, labels });
  await worker.command("BEAT", { wid: id, rss_kb: 1, current_state: payload });
  await beanstalk(test).put(TUBES[number % TUBES.length], payload);
}

async function fillAll(test) {
  for (const [number, payload] of PAYLOADS.entries()) await fillWith(test, payload, number);
}

/** The numbers of some jobs of each state. */
async function someJobs(test, ofEach) {
  const all = await Promise.all(
    ["ready", "scheduled", "retrying", "dead", "reserved"].map(async (state) => {
      const { jobs } = await test.server.api(`jobs?state=${state}&limit=200`);
      const step = Math.max(1, Math.floor(jobs.length / ofEach));
      return jobs.filter((_, at) => at % step === 0).map(({ id }) => id);
    }),
  );
  return all.flat();
}

export const cases = [
  {
    title: "hostile texts: no list makes an element or a script of them",
    async run(test) {
      const tried = await watch(test);
      await fillAll(test);
      const lists = ["", "queues", "errors", "server"];
      for (const state of ["ready", "scheduled", "retrying", "dead", "reserved", "any"])
        lists.push(`jobs?state=${state}`, `jobs?state=${state}&limit=200`);
      lists.push(...TUBES.map((tube) => `queues/${encodeURIComponent(tube)}`));
      lists.push("queues/queue-3", "queues/dead-queue-9", "queues/retrying-queue-12", "workers");
      for (const target of lists) {
        const text = await look(test, target);
        if (/^(jobs|errors|workers)/.test(target)) assert.match(text, /owned/, target);
      }
      assert.deepEqual(tried, []);
    },
  },
  {
    title: "hostile texts: no page of a job makes an element or a script of them",
    async run(test) {
      const tried = await watch(test);
      await fillAll(test);
      const { page } = test;
      for (const id of await someJobs(test, 6)) {
        assert.match(await look(test, `jobs/${id}`), /owned|__proto__/);
        for (const name of ["Text", "Hex"]) {
          const button = page.getByRole("button", { name, exact: true }).first();
          if (await button.isVisible()) await button.click();
        }
        assert.deepEqual(await injected(page), [], `jobs/${id}`);
      }
      assert.deepEqual(tried, []);
    },
  },
  {
    title: "hostile texts: names of cron entries, and refused names of limits, are shown as text",
    config: NAMES.map(
      (name) =>
        `[[cron]]\nname = ${JSON.stringify(name)}\nschedule = "@yearly"\n` +
        `[cron.job]\ntype = ${JSON.stringify(name)}\nargs = [${JSON.stringify(name)}]\n`,
    ).join(""),
    async run(test) {
      const tried = await watch(test);
      const { page } = test;
      await look(test, "throttles");
      // The refusal repeats the name.
      await page.getByRole("button", { name: "Add limits…" }).click();
      await page.getByLabel("Rate limit in jobs").fill("1");
      await page.getByLabel("Rate period in seconds").fill("1");
      for (const name of NAMES.filter((each) => each !== "__proto__")) {
        await page.getByLabel("Queue, or type: and a jobtype").fill(name);
        const answer = page.waitForResponse(/\/set$/);
        await page.getByRole("button", { name: "Save" }).click();
        assert.equal((await answer).status(), 400, name);
        await page.getByRole("alert").getByText("no queue can have the name").waitFor();
        assert.deepEqual(await injected(page), [], name);
      }
      assert.match(await look(test, "cron"), /owned/);
      for (const name of NAMES) {
        const text = await look(test, `cron/${encodeURIComponent(name)}`);
        assert.match(text, /Next runs/, name);
      }
      assert.deepEqual(tried, []);
    },
  },
  {
    title: "hostile texts: no address makes an element or a script of them",
    async run(test) {
      const tried = await watch(test);
      await fillWith(test, PAYLOADS[1], 1);
      for (const [number, payload] of PAYLOADS.entries()) {
        const text = encodeURIComponent(payload.replaceAll("\u0000", "\u0001"));
        const targets = [
          `jobs?state=any&id=${text}&type=${text}`,
          `jobs?state=${text}`,
          `jobs?error=${text}&queue=${text}#${text}`,
          `queues/${text}`,
          `jobs/${text}`,
          `${text}?${text}=${text}`,
        ];
        await look(test, targets[number % targets.length]);
      }
      assert.deepEqual(tried, []);
    },
  },
  {
    title: "hostile texts: what is wrong with a job is said as text",
    async run(test) {
      const tried = await watch(test);
      const { page } = test;
      await look(test, "jobs");
      await page.getByRole("button", { name: "Push a job…" }).click();
      const box = page.getByRole("textbox", { name: /Job as JSON/ });
      for (const payload of PAYLOADS) {
        await box.fill(`{"jobtype": "T", "queue": ${JSON.stringify(payload)}, "args": []}`);
        await page.getByRole("button", { name: "Push the job" }).click();
        assert.deepEqual(await injected(page), [], payload);
      }
      assert.deepEqual(tried, []);
    },
  },
  {
    title: "hostile texts: a body is never shown as a page of its own",
    async run(test) {
      await fillWith(test, PAYLOADS[0], 0);
      const { server } = test;
      for (const target of [
        ...(await someJobs(test, 5)).map((id) => `api/v1/jobs/${id}/body`),
        "api/v1/jobs?state=any",
        `api/v1/jobs?state=${encodeURIComponent(PAYLOADS[0])}`,
        `api/v1/${encodeURIComponent(PAYLOADS[0])}`,
        "api/v1/errors",
        "api/v1/workers",
        "metrics",
        "stats",
      ]) {
        const { headers } = await fetch(server.base + target);
        assert.doesNotMatch(headers.get("content-type"), /html|xml|svg|javascript/, target);
        assert.equal(headers.get("x-content-type-options"), "nosniff", target);
      }
    },
  },
  {
    title: "hostile texts: the search for them finds what was not escaped",
    async run(test) {
      await test.open("");
      const { page } = test;
      assert.deepEqual(await injected(page), []);
      const missed = [];
      for (const payload of PAYLOADS.filter((each) => /<[a-z]+ data-owned/.test(each))) {
        await page.evaluate((html) => {
          const box = document.createElement("div");
          box.id = "planted";
          // Without images and the like, which would break the policy of the page.
          box.innerHTML = html.replaceAll(/ (src|srcdoc|on\w+|href|http-equiv)=/g, " x-$1=");
          document.body.append(box);
        }, payload);
        if ((await injected(page)).length === 0 && !/^&lt;|^%3C|\u0000/.test(payload))
          missed.push(payload);
        await page.evaluate(() => document.getElementById("planted").remove());
      }
      assert.deepEqual(missed, []);
    },
  },
  {
    title: "another site: its requests to the job ports and the API change nothing",
    async run(test) {
      const { context, server } = test;
      // Its own problems with our policies are none.
      const page = await context.newPage();
      const tube = beanstalk(test);
      const client = await faktory(test);
      const stats = async () => {
        const size = Number((await tube.command("stats")).split(" ")[1]);
        const text = (await tube.bytes(size)).toString();
        const of = (name) => Number(new RegExp(`^${name}: (\\d+)`, "m").exec(text)[1]);
        const [puts, jobs] = [of("cmd-put"), of("total-jobs")];
        return { puts, jobs, connections: of("total-connections") };
      };
      const kept = await tube.put("kept", "kept");
      await client.push("kept-0001", "Kept", "kept");
      const info = async () => JSON.parse(await client.command("INFO", "")).faktory;
      const before = await stats();
      const { total_enqueued: enqueued } = await info();
      const other = http.createServer((_, answer) => {
        answer.setHeader("content-type", "text/html");
        answer.end("<!doctype html><title>another site</title>");
      });
      await new Promise((resolve) => {
        other.listen(0, "localhost", resolve);
      });
      try {
        const home = `http://localhost:${other.address().port}/`;
        const bodies = {
          [server.beanstalk]: `put 0 0 60 5\r\nowned\r\ndelete ${kept}\r\n`,
          [server.faktory]:
            'HELLO {"v":2}\r\nPUSH {"jid":"owned-001","jobtype":"Owned","args":[]}\r\nFLUSH\r\n',
        };
        for (const [port, body] of Object.entries(bodies)) {
          const url = `http://127.0.0.1:${port}/`;
          await page.goto(home);
          await page.evaluate(sendAll, { url, body });
          await submitForm(page, url, body);
        }
        await page.goto(home);
        const job = '{"jobtype":"Owned","args":[]}';
        await page.evaluate(sendAll, { url: `${server.base}api/v1/jobs`, body: job });
        await submitForm(page, `${server.base}api/v1/jobs/${kept}/delete`, "x");
      } finally {
        other.close();
        other.closeAllConnections();
      }
      const after = await stats();
      // The requests have arrived: no browser stopped them.
      assert.ok(after.connections >= before.connections + 3, JSON.stringify([before, after]));
      assert.deepEqual({ ...after, connections: 0 }, { ...before, connections: 0 });
      assert.equal((await counts(test)).ready, 2);
      assert.equal((await info()).total_enqueued, enqueued);
    },
  },
];

/** In a page: sends the body in all ways that need no permission of the receiver. */
async function sendAll({ url, body }) {
  const settled = [];
  for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
    const options = { method: "POST", mode: "no-cors", headers: { "content-type": type }, body };
    settled.push(fetch(url, options).catch(() => {}));
  }
  const stream = new Blob([body]);
  settled.push(fetch(url, { method: "POST", mode: "no-cors", body: stream }).catch(() => {}));
  navigator.sendBeacon(url, body);
  const parts = new FormData();
  parts.append("a", `\r\n${body}`);
  navigator.sendBeacon(url, parts);
  const socket = new WebSocket(url.replace("http", "ws"));
  settled.push(
    new Promise((resolve) => {
      socket.onclose = resolve;
      socket.onopen = resolve;
    }),
  );
  const late = new Promise((resolve) => {
    setTimeout(resolve, 3000);
  });
  await Promise.race([Promise.all(settled), late]);
}

/** A form whose text begins with the commands. The page may become what the port answers. */
async function submitForm(page, url, body) {
  const left = page.waitForEvent("framenavigated", { timeout: 3000 }).catch(() => {});
  await page.evaluate(
    ({ action, text }) => {
      const form = document.createElement("form");
      Object.assign(form, { action, method: "POST", enctype: "text/plain" });
      const field = document.createElement("textarea");
      field.name = `${text}a`;
      field.value = `\r\n${text}`;
      form.append(field);
      document.body.append(form);
      form.submit();
    },
    { action: url, text: body },
  );
  await left;
}
