// The pages of queues with limits.
import assert from "node:assert/strict";
import { accessibleCases } from "../axe.js";
import { clippedAt, faktory, gone, row, until } from "../helpers.js";

const CONFIG = `
[throttles]
instagram = { concurrency = 2, timeout = 60 }
"mail-*" = { concurrency = 10, worker = 2, timeout = 300, rate = { count = 100, per = 60 } }
`;

/** Two jobs of `instagram` run, and one waits. */
async function fill(test) {
  const client = await faktory(test, "worker-1");
  for (const n of [1, 2, 3]) await client.push(`picture-${n}`, "Post", "instagram", [n]);
  await client.push("mail-0001", "SendMail", "mail-eu");
  await client.fetch("instagram");
  await client.fetch("instagram");
  return client;
}

const edit = (page, queue) =>
  page.getByRole("button", { name: `Edit the limits of ${queue}` }).click();
const field = (page, name) => page.getByLabel(name, { exact: true });
const save = (page) => page.getByRole("button", { name: "Save" }).click();
const limitsOf = async (server, queue) => (await server.api(`throttles/${queue}`)).limits;

export const cases = [
  ...accessibleCases("throttles", CONFIG, fill, async (page, { base }, look) => {
    await page.goto(`${base}throttles`);
    await row(page, "instagram").first().waitFor();
    await look("list");
    await edit(page, "instagram");
    await field(page, "Jobs at a time").fill("many");
    await field(page, "Timeout in seconds").fill("");
    await save(page);
    await page.getByText("A whole number from 1").waitFor();
    await look("edit");
    await page.getByRole("button", { name: "Add limits…" }).click();
    await field(page, "Queue, or type: and a jobtype").waitFor();
    await look("new");
    await page.goto(`${base}queues/instagram`);
    await page.locator("h1 .badge.throttled").waitFor();
    await look("queue");
  }),
  ...accessibleCases("no throttles", "", () => {}, async (page, { base }, look) => {
    await page.goto(`${base}throttles`);
    await page.getByText("Nothing is limited.").waitFor();
    await look("list");
  }),
  {
    title: "limits are listed with what counts, and where they are from",
    config: CONFIG,
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("throttles");
      await row(page, "mail-eu").waitFor();
      for (const [name, ...texts] of [
        ["instagram", "throttled 2 of 2", "2 concurrent", "timeout 60 s", "config file"],
        ["mail-eu", "10 concurrent, 2 per worker, 100 per minute", "config file", "mail-*"],
      ]) {
        const shown = await row(page, name).first().innerText();
        for (const text of texts) assert.ok(shown.includes(text), `${text} in: ${shown}`);
      }
      const rules = page.getByRole("region", { name: "Limits of the config file" });
      await rules.getByText("mail-*").waitFor();
      await row(page, "throttled").getByRole("link", { name: "1 ready job of instagram" }).click();
      await row(page, "Post").waitFor();
    },
  },
  {
    title: "a throttled queue and its jobs say so, until a job ends",
    config: CONFIG,
    async run(test) {
      const client = await fill(test);
      const { page } = test;
      await test.open("queues");
      await row(page, "instagram").getByText("throttled 2 of 2").waitFor();
      await page.getByRole("link", { name: "instagram", exact: true }).click();
      await page.locator("h1", { hasText: "throttled 2 of 2" }).waitFor();
      await page.getByRole("link", { name: "2 concurrent" }).waitFor();
      await row(page, "Post").getByRole("link").first().click();
      await page.getByText("its queue is throttled: 2 of 2").waitFor();
      await client.command("ACK", { jid: "picture-1" });
      await page.getByText("for a worker").waitFor();
      await test.open("throttles");
      await row(page, "instagram").getByText(/p95 /).waitFor();
    },
  },
  {
    title: "limits are edited in place, with a message at each field that is wrong",
    config: CONFIG,
    async run(test) {
      await fill(test);
      const { page, server } = test;
      await test.open("throttles");
      await edit(page, "instagram");
      const count = field(page, "Jobs at a time");
      await until(() => count.evaluate((node) => document.activeElement === node), "has the focus");
      assert.equal(await count.inputValue(), "2");
      await count.fill("0");
      await field(page, "Timeout in seconds").fill("");
      await field(page, "Rate period in seconds").fill("60");
      await save(page);
      for (const [name, problem] of [
        ["Jobs at a time", "A whole number from 1 to 1,000,000"],
        ["Timeout in seconds", "Required: a job that runs longer no longer counts"],
        ["Rate limit in jobs", "Required with a number of seconds"],
      ]) {
        const said = await field(page, name).getAttribute("aria-describedby");
        assert.equal(await page.locator(`#${said}`).innerText(), problem);
      }
      assert.equal((await limitsOf(server, "instagram")).concurrency, 2);
      await count.fill("3");
      await gone(page.getByText("A whole number from 1"));
      await field(page, "Timeout in seconds").fill("30");
      await field(page, "Rate period in seconds").fill("");
      await page.keyboard.press("Enter");
      await page.getByText("The limits of instagram are set.").waitFor();
      await row(page, "3 concurrent").getByText("by hand").waitFor();
      assert.equal(await page.locator("main form").count(), 0);
      assert.equal((await limitsOf(server, "instagram")).timeout_s, 30);
    },
  },
  {
    title: "what was typed into the form of limits stays while the page updates",
    config: CONFIG,
    async run(test) {
      const client = await fill(test);
      const { page } = test;
      await test.open("throttles");
      await edit(page, "instagram");
      await field(page, "Jobs at a time").fill("77");
      await field(page, "Timeout in seconds").fill("88");
      await client.command("ACK", { jid: "picture-1" });
      await gone(page.getByText("throttled 2 of 2"));
      assert.equal(await field(page, "Jobs at a time").inputValue(), "77");
      assert.equal(await field(page, "Timeout in seconds").inputValue(), "88");
      await page.getByRole("button", { name: "Cancel" }).click();
      await gone(page.locator("main form"));
    },
  },
  {
    title: "limits set by hand stay over SIGHUP and a restart, until they are reset",
    config: CONFIG,
    async run(test) {
      await fill(test);
      const { page, server } = test;
      await test.open("throttles");
      await edit(page, "instagram");
      await field(page, "Jobs at a time").fill("5");
      await save(page);
      await row(page, "5 concurrent").waitFor();
      server.reload(CONFIG.replace("concurrency = 2", "concurrency = 7"));
      const rules = page.getByRole("region", { name: "Limits of the config file" });
      await rules.getByText("7 concurrent").waitFor();
      assert.equal((await limitsOf(server, "instagram")).concurrency, 5);
      await server.kill();
      await server.start();
      await page.getByText("The server was restarted.").waitFor();
      await row(page, "5 concurrent").getByText("by hand").waitFor();
      await page.getByRole("button", { name: "Reset the limits of instagram" }).click();
      const question = page.getByRole("dialog");
      await question.getByText("apply again: 7 concurrent.").waitFor();
      await question.getByRole("button", { name: "Reset" }).click();
      await gone(page.getByText("by hand", { exact: true }));
      assert.equal((await limitsOf(server, "instagram")).concurrency, 7);
    },
  },
  {
    title: "types and keys are listed and edited, and jobs that wait for them say so",
    config: `[throttles]
tenants = { per_key = 1, timeout = 60 }
"type:Mail" = { concurrency = 1, timeout = 60 }`,
    async run(test) {
      const { page, server } = test;
      const client = await faktory(test, "worker-1");
      const job = (jid, jobtype, queue, key) =>
        client.command("PUSH", { jid, jobtype, queue, args: [], custom: { throttle_key: key } });
      await job("acme-0001", "Post", "tenants", "acme");
      await job("acme-0002", "Post", "tenants", "acme");
      await job("mail-0001", "Mail", "mails", null);
      await job("mail-0002", "Mail", "mails", null);
      await client.fetch("tenants");
      await client.fetch("mails");
      // Nobody knows that all keys are full before a client asks.
      await client.fetch("tenants");
      await test.open("throttles");
      for (const [name, ...texts] of [
        ["tenants", "throttled 1 of each key", "1 per key", "1 key", "config file"],
        ["type Mail", "throttled 1 of 1", "1 concurrent", "config file"],
      ]) {
        await row(page, name).first().waitFor();
        const shown = await row(page, name).first().innerText();
        for (const text of texts) assert.ok(shown.includes(text), `${text} in: ${shown}`);
      }
      await edit(page, "type:Mail");
      assert.equal(await page.getByLabel("Jobs at a time for each key").count(), 0);
      await field(page, "Jobs at a time").fill("2");
      await save(page);
      await row(page, "2 concurrent").getByText("by hand").waitFor();
      await edit(page, "tenants");
      await field(page, "Jobs at a time for each key").fill("3");
      await save(page);
      await row(page, "3 per key").getByText("by hand").waitFor();
      assert.equal((await limitsOf(server, "tenants")).per_key, 3);
      await page.getByRole("button", { name: "Reset the limits of tenants" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
      await gone(page.getByText("by hand", { exact: true }).nth(1));
      await page.getByRole("link", { name: "1 ready job of tenants" }).click();
      await row(page, "Post").getByRole("link").first().click();
      await page.getByText("throttled: key acme 1 of 1").waitFor();
    },
  },
  {
    title: "a queue is limited that is not in the config file, and not yet there",
    async run(test) {
      const { page, server } = test;
      await test.open("throttles");
      await page.locator("pre", { hasText: "[throttles]" }).waitFor();
      await page.getByRole("button", { name: "Add limits…" }).click();
      await save(page);
      await page.getByText("Which queue or type?").waitFor();
      await field(page, "Queue, or type: and a jobtype").fill("x".repeat(1100));
      await save(page);
      await page.getByRole("alert").getByText("at most 1024 bytes").waitFor();
      await field(page, "Queue, or type: and a jobtype").fill("later");
      await field(page, "Rate limit in jobs").fill("20");
      await field(page, "Rate period in seconds").fill("1");
      await save(page);
      await row(page, "later").getByText("20 per second").waitFor();
      assert.equal((await limitsOf(server, "later")).rate_count, 20);
      await page.getByRole("button", { name: "Reset the limits of later" }).click();
      const question = page.getByRole("dialog");
      await question.getByText("it will have none").waitFor();
      await question.getByRole("button", { name: "Reset" }).click();
      await page.locator("pre", { hasText: "[throttles]" }).waitFor();
    },
  },
  {
    title: "a queue is set free by hand of what the config file says",
    config: CONFIG,
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("throttles");
      await edit(page, "instagram");
      await field(page, "Jobs at a time").fill("");
      await field(page, "Timeout in seconds").fill("");
      await page.getByText("There will be no limits.").waitFor();
      await save(page);
      await row(page, "no limit").getByText("by hand").waitFor();
      await gone(page.getByText("throttled 2 of 2"));
    },
  },
  {
    title: "a long pattern and a long name of a queue fit on a phone, and nothing overlaps",
    config: `[throttles]
"${"a-long-pattern-".repeat(13)}*" = { concurrency = 10, worker = 2, timeout = 300 }
"${"x".repeat(200)}" = { rate = { count = 100, per = 60 } }`,
    async run(test) {
      const client = await faktory(test);
      await client.push("long-0001", "SendMail", `${"a-long-pattern-".repeat(13)}queue`);
      await client.push("long-0002", "SendMail", "x".repeat(200));
      const { page } = test;
      await test.open("throttles");
      await row(page, "xxx").first().waitFor();
      assert.deepEqual(await clippedAt(page, [320, 390, 1024, 1100, 1280, 1440]), []);
      await page.setViewportSize({ width: 390, height: 900 });
      const overlaps = await page.evaluate(() => {
        const boxes = [...document.querySelectorAll("tbody td")].map((td) =>
          td.getBoundingClientRect(),
        );
        const meet = (a, b) =>
          a.left < b.right - 1 &&
          b.left < a.right - 1 &&
          a.top < b.bottom - 1 &&
          b.top < a.bottom - 1;
        return boxes.filter((a, i) => boxes.slice(i + 1).some((b) => meet(a, b))).length;
      });
      assert.equal(overlaps, 0);
    },
  },
  {
    title: "limits are shown by a read-only server, and cannot be changed",
    config: CONFIG,
    flags: ["--web-read-only"],
    async run(test) {
      await fill(test);
      const { page, server } = test;
      await test.open("throttles");
      await row(page, "instagram").first().waitFor();
      assert.equal(await page.locator("main button").count(), 0);
      const target = `${server.base}api/v1/throttles/instagram/set`;
      assert.equal((await fetch(target, { method: "POST" })).status, 403);
    },
  },
];
