// What a question about many jobs tells before they are changed.
import assert from "node:assert/strict";
import { violations } from "../axe.js";
import { counts, faktory } from "../helpers.js";

/** Pushes `n` jobs at once. */
function pushMany(client, n, jobtype, queue) {
  const jobs = Array.from({ length: n }, (_, i) => ({
    jid: `${jobtype}-${queue}-${10000 + i}`,
    jobtype,
    queue,
    args: [],
  }));
  return client.command("PUSHB", jobs);
}

async function fill(test) {
  const client = await faktory(test);
  await pushMany(client, 900, "SendMail", "mail");
  await pushMany(client, 300, "Resize", "mail");
  for (let i = 0; i < 8; i += 1) await pushMany(client, 10, "Resize", `thumbs-${i}`);
}

const parts = async (dialog) =>
  (await dialog.locator(".breakdown dl").allInnerTexts()).map((text) => text.split(/\s+/));

export const cases = [
  {
    title: "retries of dead jobs can be spread over some time",
    async run(test) {
      const client = await faktory(test);
      for (let i = 0; i < 4; i += 1) {
        await client.push(`dies-000${i}`, "Dies", "broken", [], { retry: -1 });
        await client.fail("broken", "KeyError", "no key");
      }
      const { page } = test;
      await test.open("jobs?state=dead");
      await page.getByRole("button", { name: "Retry all 4" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Enqueue them").selectOption("over 10 minutes");
      await dialog.getByRole("button", { name: "Retry 4 jobs" }).click();
      await page.getByText("Done: 4 jobs scheduled over 10 minutes.").waitFor();
      const { ready, scheduled, dead } = await counts(test);
      assert.deepEqual([ready, scheduled, dead], [1, 3, 0]);
    },
  },
  {
    title: "jobs are moved to another queue: one, those that are selected, and all of a queue",
    async run(test) {
      const client = await faktory(test);
      for (let i = 0; i < 5; i += 1) await client.push(`moves-00${i}`, "Moves", "first");
      const { page } = test;
      const dialog = page.getByRole("dialog");
      const moveTo = async (queue, button) => {
        await dialog.getByLabel("To the queue").fill(queue);
        await dialog.getByRole("button", { name: button }).click();
      };
      await test.open("jobs/1");
      await page.getByRole("button", { name: "Move" }).click();
      await moveTo("second", "Move 1 job");
      await page.getByText("Job 1 is moved.").waitFor();
      await test.open("jobs?state=ready&queue=first");
      await page.getByRole("checkbox", { name: "Select job 2" }).check();
      await page.getByRole("button", { name: "Move 1" }).click();
      await moveTo("second", "Move 1 job");
      await page.getByText("1 job moved.").waitFor();
      await test.open("queues/first");
      await page.getByRole("button", { name: "Move jobs" }).click();
      await dialog.getByText("3 jobs will be moved").waitFor();
      await moveTo("third", "Move 3 jobs");
      await page.getByText("Done: 3 jobs moved.").waitFor();
      await test.open("jobs?state=ready&queue=second");
      await page.getByRole("checkbox", { name: "Select job 1" }).waitFor();
      await page.getByRole("checkbox", { name: "Select job 2" }).waitFor();
    },
  },
  {
    title: "a question about all jobs of a state breaks their number down by queue and type",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs?state=ready");
      await page.getByRole("button", { name: "Move all 1,280" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("1,280 jobs will be moved").waitFor();
      await dialog.getByText("By type").waitFor();
      const [queues, types] = await parts(dialog);
      assert.deepEqual(queues.slice(0, 2), ["mail", "1,200"]);
      assert.deepEqual(queues.slice(-2), ["others", "40"]);
      assert.deepEqual(types, ["SendMail", "900", "Resize", "380"]);
      assert.ok(await dialog.getByRole("button", { name: "Move 1,280 jobs" }).isEnabled());
    },
  },
  {
    title: "more than 1,000 jobs are killed only with a filter, once their number is typed",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs?state=ready");
      await page.getByRole("button", { name: "Move all 1,280" }).waitFor();
      assert.equal(await page.getByRole("button", { name: "Kill all" }).count(), 0);
      assert.equal(await page.getByRole("button", { name: "Delete all" }).count(), 0);
      await test.open("jobs?state=ready&queue=mail");
      await page.getByRole("button", { name: "Kill all that match" }).click();
      const dialog = page.getByRole("dialog");
      const kill = dialog.getByRole("button", { name: "Kill 1,200 jobs" });
      await kill.waitFor();
      assert.ok(await kill.isDisabled());
      await dialog.getByRole("textbox").fill("1200");
      await kill.click();
      await page.getByText("Done: 1,200 jobs killed.").waitFor();
    },
  },
  {
    title: "more than 1,000 jobs are deleted once their number is typed",
    async run(test) {
      await fill(test);
      const { page, context, server } = test;
      await test.open("jobs?state=ready&queue=mail");
      await page.getByRole("button", { name: "Delete all that match" }).click();
      const dialog = page.getByRole("dialog");
      const yes = dialog.getByRole("button", { name: "Delete 1,200 jobs" });
      const field = dialog.getByLabel("Type 1,200 to confirm");
      await field.waitFor();
      assert.deepEqual(await parts(dialog), [
        ["mail", "1,200"],
        ["SendMail", "900", "Resize", "300"],
      ]);
      assert.ok(await yes.isDisabled());
      await page.keyboard.type("120");
      assert.ok(await yes.isDisabled());
      await field.press("Enter");
      await page.keyboard.type("0");
      assert.ok(await yes.isEnabled());
      const axe = await context.browser().newContext({ bypassCSP: true, reducedMotion: "reduce" });
      const other = await axe.newPage();
      await other.goto(`${server.base}jobs?state=ready&queue=mail`);
      await other.getByRole("button", { name: "Delete all that match" }).click();
      await other.getByLabel("Type 1,200 to confirm").waitFor();
      assert.deepEqual(await violations(other), []);
      await axe.close();
      await field.press("Enter");
      await page.getByText("Done: 1,200 jobs deleted.").waitFor();
      assert.equal((await counts(test)).ready, 80);
    },
  },
  {
    title: "a queue with more than 1,000 jobs is cleared once their number is typed",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("queues/mail");
      await page.getByRole("button", { name: "Clear" }).click();
      const yes = page.getByRole("button", { name: "Delete 1,200 ready jobs" });
      assert.ok(await yes.isDisabled());
      await page.getByLabel("Type 1,200 to confirm").fill("1,200");
      await yes.click();
      await page.getByText("Done: 1,200 jobs deleted.").waitFor();
    },
  },
];
