// Jobs that have ended.
import assert from "node:assert/strict";
import { accessibleCases } from "../axe.js";
import { beanstalk, faktory, find, gone, row } from "../helpers.js";

/** One job that was done, one that was dropped, and one that was deleted. */
async function fill(test) {
  const client = await faktory(test, "worker-1");
  await client.push("mail-0001", "SendMail", "mail", [1]);
  await client.fetch("mail");
  await client.command("ACK", { jid: "mail-0001" });
  await client.push("drop-0001", "Drop", "other", [], { retry: 0 });
  await client.fail("other", "Timeout", "after 3 s");
  const tube = beanstalk(test);
  await tube.put("thumbs", "bytes");
  await tube.command("delete 3");
  return client;
}

export const cases = [
  ...accessibleCases("completed jobs", "", fill, async (page, { base }, look) => {
    await page.goto(`${base}completed`);
    await row(page, "SendMail").waitFor();
    await look("list");
    await page.goto(`${base}jobs/1`);
    await page.getByText("Completed").first().waitFor();
    await look("job");
  }),
  {
    title: "jobs that have ended are listed, filtered, and have a page",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs");
      await page.getByRole("link", { name: "Completed" }).click();
      await row(page, "SendMail").getByText("Done").waitFor();
      await row(page, "SendMail").getByRole("link", { name: "box:7" }).waitFor();
      await row(page, "Drop").getByText("Dropped").waitFor();
      await row(page, "beanstalk-3").getByText("Deleted").waitFor();
      await page.getByLabel("Outcome").selectOption("done");
      await gone(row(page, "Dropped"));
      assert.equal(await page.locator("tbody tr").count(), 1);
      await page.goBack();
      await row(page, "Drop").waitFor();
      await page.getByLabel("Type").fill("Send*");
      await page.keyboard.press("Enter");
      await gone(row(page, "Dropped"));
      await row(page, "SendMail").getByRole("link", { name: "SendMail" }).click();
      await page.getByText(/^Completed .*, took .*, on box:7\.$/).waitFor();
      await page.getByText("mail-0001").waitFor();
    },
  },
  {
    title: "the page of a job tells of its end when it ends",
    async run(test) {
      const client = await faktory(test, "worker-1");
      await client.push("mail-0001", "SendMail", "mail", [1]);
      await client.fetch("mail");
      const { page } = test;
      await test.open("jobs/1");
      await page.getByText("Reserved").first().waitFor();
      await client.command("ACK", { jid: "mail-0001" });
      await page.getByText(/^Completed .*, on box:7\.$/).waitFor();
    },
  },
  {
    title: "without finished jobs the page says so",
    async run(test) {
      await test.open("completed");
      await test.page.getByText(/^No job has ended in the last 24 h/).waitFor();
    },
  },
  {
    title: "a whole jid is found at once, in any state and after its end",
    async run(test) {
      const client = await fill(test);
      await client.push("mail-00012", "SendMail", "mail", [2]);
      const { page } = test;
      await test.open("");
      await find(page, "mail-00012");
      await row(page, "SendMail").waitFor();
      await page.getByText("Exact match.").waitFor();
      await find(page, "drop-0001");
      await page.getByText(/Failed and dropped .*, on box:7\.$/).waitFor();
      await page.getByRole("link", { name: "Also show jids with this prefix" }).click();
      await find(page, "nobody-1");
      await page.getByText(/No job with exactly this jid has ended since /).waitFor();
    },
  },
];
