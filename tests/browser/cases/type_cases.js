// The types of jobs: how they run, wait and fail.
import assert from "node:assert/strict";
import { accessibleCases } from "../axe.js";
import { beanstalk, faktory, gone, row } from "../helpers.js";

/** One type that runs, one that fails and has a dead job, and one that only waits. */
async function fill(test) {
  const client = await faktory(test, "worker-1");
  for (const jid of ["mail-0001", "mail-0002", "mail-0003"]) {
    await client.push(jid, "SendMail", "mail", [jid]);
    await client.fetch("mail");
    await client.command("ACK", { jid });
  }
  await client.push("sync-0001", "CrmSync", "crm", [], { retry: -1 });
  await client.fail("crm", "Timeout", "after 3 s");
  await client.push("wait-0001", "Report", "slow", [1]);
  await client.push("wait-0002", "Report", "slow", [2]);
  const tube = beanstalk(test);
  await tube.put("thumbs", "bytes");
  return client;
}

const cells = (page, text) => row(page, text).locator("td").allInnerTexts();
const types = (page) => page.locator("tbody tr td:first-child").allInnerTexts();

export const cases = [
  ...accessibleCases("types", "", fill, async (page, { base }, look) => {
    await page.goto(`${base}types`);
    await row(page, "SendMail").waitFor();
    await look("list");
  }),
  {
    title: "each type tells how its jobs run, wait and fail, the worst first",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("");
      await page.getByRole("link", { name: "Types", exact: true }).click();
      await row(page, "CrmSync").getByText("100 %").waitFor();
      assert.equal((await types(page))[0], "CrmSync");
      const [, , , share, , , waiting, dead] = await cells(page, "CrmSync");
      assert.deepEqual([share, waiting, dead], ["100 %", "0", "1"]);
      assert.equal((await cells(page, "Report"))[6], "2");
      assert.equal((await cells(page, "SendMail"))[3], "0 %");
      await row(page, "CrmSync").getByRole("link", { name: "1 dead job of type CrmSync" }).click();
      await row(page, "sync-0001").or(row(page, "CrmSync")).first().waitFor();
      assert.match(page.url(), /jobs\?state=dead&type=CrmSync/);
    },
  },
  {
    title: "rates in a column have one unit",
    async run(test) {
      const client = await fill(test);
      for (let i = 100; i < 160; i += 1) {
        await client.push(`quick-${i}`, "Quick", "quick");
        await client.fetch("quick");
        await client.command("ACK", { jid: `quick-${i}` });
      }
      const { page } = test;
      await test.open("types");
      await row(page, "Quick").getByText(/^[1-9].*\/s$/).waitFor();
      for (const column of [2, 3]) {
        const rates = await page.locator(`tbody td:nth-child(${column})`).allInnerTexts();
        const units = new Set(rates.map((each) => each.split("/")[1]));
        assert.equal(units.size, 1, rates.join(" "));
      }
    },
  },
  {
    title: "types are sorted and filtered",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("types");
      await row(page, "Report").waitFor();
      await page.getByRole("columnheader", { name: "Type" }).getByRole("link").click();
      await page.locator("th[aria-sort=ascending]").waitFor();
      const sorted = (await types(page)).filter((type) => type !== "beanstalk");
      assert.deepEqual(sorted, ["CrmSync", "Report", "SendMail"]);
      await page.getByRole("columnheader", { name: "Waiting" }).getByRole("link").click();
      await page.locator("th[aria-sort=descending]").waitFor();
      assert.equal((await types(page))[0], "Report");
      await page.getByLabel("Filter types by name").fill("mail");
      await gone(row(page, "Report"));
      assert.deepEqual(await types(page), ["SendMail"]);
    },
  },
  {
    title: "without types the page says so",
    async run(test) {
      await test.open("types");
      await test.page.getByText("No jobs with a type yet. Pushed jobs have one.").waitFor();
    },
  },
];
