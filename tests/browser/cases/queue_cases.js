// What the pages of queues must do.
import assert from "node:assert/strict";
import { beanstalk, counts, faktory, fill, gone, row, until } from "../helpers.js";

const more = (page, name) => page.getByLabel(`More actions for ${name}`).click();

/** In the dialog that asks for how long. */
async function pause(page, howLong) {
  const dialog = page.getByRole("dialog");
  if (howLong) await dialog.getByLabel("Pause it").selectOption(howLong);
  await dialog.getByRole("button", { name: "Pause" }).click();
}

export const cases = [
  {
    title: "a queue is paused, resumed, cleared and deleted",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("queues");
      await page.getByRole("button", { name: "Pause thumbs" }).click();
      await pause(page);
      await row(page, "thumbs").locator(".badge.paused").waitFor();
      assert.equal((await test.server.api("queues/thumbs")).is_paused, true);
      await page.getByRole("button", { name: "Resume thumbs" }).click();
      await gone(row(page, "thumbs").locator(".badge.paused"));
      await more(page, "thumbs");
      await page.getByRole("button", { name: "Clear thumbs" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete 2 ready jobs" }).click();
      await page.getByText("Done: 2 jobs deleted.").waitFor();
      await more(page, "broken");
      await page.getByRole("button", { name: "Delete broken" }).click();
      await page
        .getByRole("dialog")
        .getByRole("button", { name: "Delete the queue and 2 jobs" })
        .click();
      await gone(row(page, "broken"));
      const left = await counts(test);
      assert.deepEqual([left.retrying, left.dead], [0, 0]);
    },
  },
  {
    title: "a queue names the workers that list it and are too busy for it",
    async run(test) {
      const { page } = test;
      const worker = await faktory(test, "worker-1");
      await worker.push("high-0001", "A", "high");
      await worker.push("low-00001", "B", "low");
      await worker.fetch("high low");
      await test.open("queues/low");
      await page.getByRole("link", { name: "box:7" }).waitFor();
      await test.open("workers");
      await page.getByText("Queues: high, low").waitFor();
    },
  },
  {
    title: "a queue is paused for some time, or not after all",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("queues/mail");
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
      await gone(page.getByRole("dialog"));
      assert.equal((await test.server.api("queues/mail")).is_paused, false);
      await page.getByRole("button", { name: "Pause" }).click();
      await pause(page, "for 15 minutes");
      await page.locator("h1", { hasText: "mailpaused, ends in 15 min" }).waitFor();
      const { paused_until: end } = await test.server.api("queues/mail");
      assert.ok(Math.abs(Date.parse(end) - Date.now() - 900_000) < 60_000);
    },
  },
  {
    title: "more queues than the server looks at for an answer are one list",
    async run(test) {
      const tube = beanstalk(test);
      const names = Array.from({ length: 20050 }, (_, i) => `t${String(i).padStart(5, "0")}`);
      const first = names.splice(7, 1)[0]; // the last one that comes into being
      for (const name of [...names, first])
        tube.socket.write(`use ${name}\r\nput 0 0 60 1\r\nx\r\n`);
      await until(async () => (await counts(test)).ready === 20050, "all are there");
      const { page } = test;
      await test.open("queues?match=t&sort=name");
      const shown = async () => (await page.locator("tbody td.wide").allTextContents()).slice(0, 9);
      await row(page, "t00000").waitFor();
      assert.equal((await shown()).at(8), first); // after "default"
      await page.getByRole("link", { name: "Next page" }).click();
      await row(page, "t00101").waitFor();
      assert.equal((await shown()).at(0), "t00099");
      await test.open("queues?sort=name&order=desc");
      await row(page, "t20049").waitFor();
      assert.deepEqual((await shown()).slice(0, 2), ["t20049", "t20048"]);
    },
  },
  {
    title: "queues whose names are steps in a path are queues as others are",
    async run(test) {
      const tube = beanstalk(test);
      await tube.put("..", "up");
      await tube.put(".", "here");
      const { page } = test;
      await test.open("queues");
      await page.getByRole("button", { name: "Pause ..", exact: true }).click();
      await pause(page);
      await row(page, "..").locator(".badge.paused").waitFor();
      await page.getByRole("link", { name: "..", exact: true }).click();
      await page.locator("h1", { hasText: "..paused" }).waitFor();
      await row(page, "up").waitFor();
      assert.equal(await page.locator("tbody tr").count(), 1);
      await page.getByRole("button", { name: "Resume" }).click();
      await until(async () => !(await test.server.api("queues/%252E%252E")).is_paused, "resumed");
    },
  },
  {
    title: "the worst queues come first, and the last row has the totals",
    async run(test) {
      const { client } = await fill(test);
      await client.push("mail-0002", "SendMail", "mail", []);
      const { page } = test;
      await test.open("queues");
      // Half of the runs of the last moments failed, and more.
      await page.locator("tbody tr", { hasText: "broken" }).waitFor();
      const names = await page.locator("tbody td.wide").allInnerTexts();
      assert.equal(names[0], "broken");
      const total = page.locator("tfoot tr");
      await total.getByRole("link", { name: "4 ready jobs of all queues" }).waitFor();
      await page.getByRole("link", { name: "By name" }).click();
      await page.locator("th[aria-sort=ascending]").waitFor();
      const sorted = await page.locator("tbody td.wide").allInnerTexts();
      assert.deepEqual(sorted, [...sorted].sort());
    },
  },
];
