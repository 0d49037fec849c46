// What clients asked for with a job, and what workers tell of it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { accessibleCases } from "../axe.js";
import { faktory, gone, row, until } from "../helpers.js";

const custom = (members) => ({ custom: members });

/** A tracked job that runs, a unique one that waits, and one that expires. */
async function fill(test) {
  const client = await faktory(test, "worker-1");
  await client.push("import-01", "Import", "imports", [1], custom({ track: 1 }));
  await client.push("sync-0001", "Sync", "syncs", [1], custom({ unique_for: 600 }));
  await client.push("alert-001", "Alert", "alerts", [1], custom({ expires_in: 3600 }));
  await client.fetch("imports");
  await tell(client, { percent: 42, desc: "reading the third file" });
  return client;
}

/** Job 1 is dead and has expired; job 2 is only dead. */
async function dieAndExpire(test) {
  const client = await faktory(test, "worker-1");
  await client.push("late-0001", "Late", "late", [], { retry: -1, custom: { expires_in: 1 } });
  await client.fail("late", "KeyError", "no key");
  await client.push("dies-0001", "Dies", "late", [], { retry: -1 });
  await client.fail("late", "KeyError", "no key");
  const { expires_at: end } = await test.server.api("jobs/1");
  await until(() => Date.now() > Date.parse(end), "it has expired");
}

const tell = (client, values) =>
  client.command("TRACK", `SET ${JSON.stringify({ jid: "import-01", ...values })}`);

/** What the page puts into the clipboard from now on, without asking the browser for its leave. */
const copied = (page) =>
  page.evaluate(() => {
    window.copied = [];
    navigator.clipboard.writeText = async (text) => window.copied.push(text);
  });

export const cases = [
  {
    title: "a job is pushed once more, with its numbers as they were",
    async run(test) {
      const client = await faktory(test, "worker-1");
      await client.command(
        "PUSH",
        '{"jid":"exact-001","jobtype":"Exact","queue":"mail","args":[9007199254740993,"it\'s"]}',
      );
      const { page } = test;
      await test.open("jobs/1");
      await page.getByRole("button", { name: "Push again…" }).click();
      const text = await page.locator("#ask-text").inputValue();
      assert.match(text, /9007199254740993/);
      assert.doesNotMatch(text, /exact-001|created_at/);
      await page.getByRole("button", { name: "Push the job" }).click();
      await page.getByText("Job 2 was pushed.").waitFor();
      const pushed = await test.server.api("jobs/2");
      assert.equal(pushed.args, '[9007199254740993,"it\'s"]');
      assert.equal(pushed.queue, "mail");
      assert.notEqual(pushed.jid, "exact-001");
    },
  },
  {
    title: "a job links to the one that it was pushed again as, and that one to it",
    async run(test) {
      const client = await faktory(test, "worker-1");
      await client.push("dies-0001", "Dies", "mail", [2], { retry: -1 });
      await client.fail("mail", "KeyError", "no key");
      const { page } = test;
      await test.open("jobs/1");
      await page.getByRole("button", { name: "Push again…" }).click();
      await page.getByRole("button", { name: "Push the job" }).click();
      await page.locator(".facts").getByRole("link", { name: "job 2" }).click();
      await page.getByText("Pushed again from").waitFor();
      await page.locator(".facts").getByRole("link", { name: "job 1" }).click();
      await page.getByText("Pushed again as").waitFor();
    },
  },
  {
    title: "the jid is copied, and a command that pushes the job",
    async run(test) {
      const client = await faktory(test, "worker-1");
      await client.push("copied-01", "Copied", "mail", ["it's"]);
      const { page } = test;
      await test.open("jobs/1");
      await copied(page);
      await page.getByRole("button", { name: "Copy the jid" }).click();
      await page.getByText("jid was copied.").waitFor();
      await page.getByRole("button", { name: "Copy as curl" }).click();
      await page.getByText("Command was copied.").waitFor();
      const [jid, command] = await page.evaluate(() => window.copied);
      assert.equal(jid, "copied-01");
      const { stdout } = await promisify(execFile)("sh", ["-c", `${command} --silent`]);
      assert.equal(JSON.parse(stdout).id, 2);
      assert.equal((await test.server.api("jobs/2")).args, '["it\'s"]');
    },
  },
  ...accessibleCases("job features", "", fill, async (page, { base }, look) => {
    for (const [id, text] of [
      [1, "reading the third file"],
      [2, "locked until it has ended"],
      [3, "it is removed then"],
    ]) {
      await page.goto(`${base}jobs/${id}`);
      await page.getByText(text).waitFor();
      await look(`job ${id}`);
    }
    await page.goto(`${base}workers`);
    await page.getByText("reading the third file").waitFor();
    await look("workers");
    await page.goto(`${base}jobs?state=reserved`);
    await page.getByText("reading the third file").waitFor();
    await look("reserved");
  }),
  {
    title: "the progress of running jobs is on the page of workers, and stays up to date",
    async run(test) {
      const client = await fill(test);
      const { page } = test;
      await test.open("workers");
      const running = page.getByRole("region", { name: "Running jobs" });
      await running.getByText("42\u00a0% reading the third file").waitFor();
      await tell(client, { percent: 90 });
      await running.getByText("90\u00a0% reading the third file").waitFor();
      await running.getByRole("link", { name: /Import/ }).click();
      await page.getByRole("progressbar", { name: "Progress" }).waitFor();
      await client.command("ACK", { jid: "import-01" });
      await page.goBack();
      await page.getByText("No job is running.").waitFor();
    },
  },
  {
    title: "a list of reserved jobs has their progress",
    async run(test) {
      await fill(test);
      await test.open("jobs?state=reserved");
      await row(test.page, "Import").getByText("42\u00a0% reading the third file").waitFor();
    },
  },
  {
    title: "a unique job says until when it is locked, and when its lock is over",
    async run(test) {
      const client = await fill(test);
      const { page } = test;
      await client.push("start-001", "Start", "starts", [], {
        custom: { unique_for: 60, unique_until: "start" },
      });
      await test.open("jobs/2");
      await page.getByText("locked until it has ended, at the latest in 10 min").waitFor();
      await test.open("jobs/4");
      await page.getByText("locked until it starts").waitFor();
      await client.fetch("starts");
      await page.getByText("its lock has ended").waitFor();
    },
  },
  {
    title: "the lock of a unique job is freed after a question, and Activity has it",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs/2");
      await page.getByRole("button", { name: "Free lock…" }).click();
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Free lock…" }).click();
      await page.getByRole("button", { name: "Free the lock" }).click();
      await page.getByText("The lock of job 2 is free.").waitFor();
      await page.getByText("its lock has ended").waitFor();
      await test.open("activity");
      await row(page, "Free lock").getByRole("link", { name: "2", exact: true }).waitFor();
    },
  },
  {
    title: "a job that expires says when, and what then",
    async run(test) {
      const client = await fill(test);
      const { page } = test;
      await test.open("jobs/3");
      await page.getByText("it is removed then, unless a worker has fetched it").waitFor();
      await client.fetch("alerts");
      await page.getByText("it is not tried again after that").waitFor();
    },
  },
  {
    title: "a dead job that has expired cannot be retried, and its page and its row say why",
    async run(test) {
      await dieAndExpire(test);
      const { page } = test;
      await test.open("jobs/1");
      const retry = page.getByRole("button", { name: "Retry", exact: true });
      await page.getByText("it cannot be retried any more").waitFor();
      assert.equal(await retry.isDisabled(), true);
      assert.equal(await retry.getAttribute("title"), "Expired jobs cannot be retried.");
      assert.equal(await page.getByRole("button", { name: "Delete" }).isDisabled(), false);
      await test.open("jobs?state=dead");
      await row(page, "Late").getByText(/^expired .* ago$/).waitFor();
      await page.getByLabel("Select job 1").check();
      const selected = page.getByRole("button", { name: "Retry 1", disabled: true });
      assert.equal(await selected.getAttribute("title"), "Expired jobs cannot be retried.");
      await page.getByLabel("Select job 2").check();
      await page.getByRole("button", { name: "Retry 2" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Retry 2 jobs" }).click();
      await page
        .getByText("1 job ready now, 1 unchanged (changed before, expired, or not unique).")
        .waitFor();
    },
  },
  {
    title: "a retry of all dead jobs says that those are left that have expired",
    async run(test) {
      await dieAndExpire(test);
      const { page, server } = test;
      await test.open("jobs?state=dead");
      await page.getByRole("button", { name: "Retry all 2…" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Retry 2 jobs" }).click();
      await page
        .getByText("Done: 1 job retried. The other one had changed, expired, or was not unique.")
        .waitFor();
      assert.equal((await server.api("overview")).jobs.dead, 1);
    },
  },
  {
    title: "a ready job says that its queue is paused",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("queues/syncs");
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
      await page.locator("h1 .badge.paused").waitFor();
      await row(page, "Sync").getByRole("link").first().click();
      await page.getByText("its queue is paused").waitFor();
      await page.goBack();
      await page.getByRole("button", { name: "Resume" }).click();
      await gone(page.locator("h1 .badge.paused"));
      await row(page, "Sync").getByRole("link").first().click();
      await page.getByText("for a worker").waitFor();
    },
  },
];
