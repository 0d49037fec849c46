// Charts of the server and of queues.
import assert from "node:assert/strict";
import { beanstalk, faktory, until } from "../helpers.js";

/** Runs two jobs of a queue, and waits until the server has recorded them. */
async function record(test) {
  const client = await faktory(test, "worker-1");
  for (const jid of ["mail-0001", "mail-0002"]) {
    await client.push(jid, "SendMail", "mail", [jid]);
    await client.fetch("mail");
    await client.command("ACK", { jid });
  }
  const isRecorded = async () => {
    const { processed } = await test.server.api("series?queue=mail");
    return processed.reduce((sum, n) => sum + n, 0) === 2;
  };
  // Meters are read every ten seconds.
  await until(isRecorded, "recorded", 500);
  return client;
}

const chart = (page, title) =>
  page.locator("section", { has: page.getByRole("heading", { name: title, exact: true }) }).last();

export const cases = [
  {
    title: "the page of a queue shows what was recorded, and hides a line on a click",
    async run(test) {
      await record(test);
      const { page } = test;
      await test.open("queues/mail");
      const speeds = chart(page, "Jobs per second");
      await speeds.getByRole("img", { name: /Jobs per second, \d+ points?\./ }).waitFor();
      assert.equal(await speeds.locator("path.line").count(), 3);
      const processed = speeds.getByRole("button", { name: /Processed/ });
      assert.equal(await processed.getAttribute("aria-pressed"), "true");
      await processed.click();
      await speeds.locator("button[aria-pressed=false]").waitFor();
      assert.equal(await speeds.locator("path.line").count(), 2);
      // It stays hidden when the page is updated.
      await page.waitForResponse(/api\/v1\/series/);
      assert.equal(await processed.getAttribute("aria-pressed"), "false");
      await chart(page, "Wait of jobs").getByRole("img").waitFor();
      await chart(page, "Run time").getByRole("img").waitFor();
      await chart(page, "Ready jobs").getByRole("img").waitFor();
    },
  },
  {
    title: "a chart has its numbers as a table, and its time zone",
    async run(test) {
      await record(test);
      const { page } = test;
      await test.open("queues/mail");
      const speeds = chart(page, "Jobs per second");
      await speeds.getByText("Numbers").click();
      await speeds.getByRole("columnheader", { name: "Failed" }).waitFor();
      assert.ok((await speeds.locator("tbody tr").count()) > 0);
      await speeds.getByText(/^Time \(UTC/).waitFor();
      await speeds.locator("svg").hover();
      // A line without width counts as hidden.
      await speeds.locator("path.at").waitFor({ state: "attached" });
      await speeds.locator(".legend").getByText(/^\d\d:\d\d:\d\d$/).waitFor();
    },
  },
  {
    title: "charts show an hour or a day, and the address says which",
    async run(test) {
      await record(test);
      const { page } = test;
      await test.open("");
      await chart(page, "Jobs per second").getByRole("img").waitFor();
      const hour = page.waitForResponse(/series\?span=1h/);
      await page.getByRole("link", { name: "1 h", exact: true }).click();
      await hour;
      assert.match(page.url(), /\?span=1h$/);
      await page.locator("[aria-current]", { hasText: "1 h" }).waitFor();
      await page.goto(`${test.server.base}queues/mail?span=24h`);
      await page.locator("[aria-current]", { hasText: "24 h" }).waitFor();
    },
  },
  {
    title: "the list of queues has a small chart for each queue with runs",
    async run(test) {
      await beanstalk(test).put("reports", "x");
      await record(test);
      const { page } = test;
      await test.open("queues?sort=name");
      await page.locator("tr", { hasText: "mail" }).locator("svg.spark path").waitFor();
      assert.equal(await page.locator("tr", { hasText: "reports" }).locator("svg").count(), 0);
    },
  },
];
