// The page of one error.
import assert from "node:assert/strict";
import { accessibleCases } from "../axe.js";
import { counts, faktory, gone, row } from "../helpers.js";

/** Three jobs with one error, of two types and queues, and one with another. */
async function fill(test) {
  const client = await faktory(test, "worker-1");
  const jobs = [
    ["fails-0001", "SendMail", "mail", { retry: -1 }],
    ["fails-0002", "SendMail", "mail", {}],
    ["fails-0003", "Sync", "crm", {}],
  ];
  for (const [i, [jid, type, queue, more]] of jobs.entries()) {
    await client.push(jid, type, queue, [], more);
    await client.fetch(queue);
    const run = { jid, errtype: "Timeout", message: `after ${i} s`, backtrace: ["net.rb:7"] };
    await client.command("FAIL", run);
  }
  await client.push("other-0001", "Sync", "crm");
  await client.fail("crm", "KeyError", "no key");
}

const groupOf = async (test, type) =>
  (await test.server.api("errors")).groups.find((each) => each.type === type).group;

export const cases = [
  ...accessibleCases("an error", "", fill, async (page, { base }, look) => {
    await page.goto(`${base}errors`);
    await page.getByRole("link", { name: "Timeout", exact: true }).click();
    await page.getByRole("heading", { name: "Latest job" }).waitFor();
    await look("group");
  }),
  {
    title: "the page of an error has its types, queues and the latest backtrace",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("errors");
      await page.getByRole("link", { name: "Timeout", exact: true }).click();
      await page.getByRole("heading", { name: "Timeout" }).getByText("3 jobs").waitFor();
      await page.getByText("net.rb:7").first().waitFor();
      await page.getByText("1 dead, 2 retrying").waitFor();
      await row(page, "SendMail").getByText("2", { exact: true }).waitFor();
      await row(page, "crm").getByText("1", { exact: true }).waitFor();
      await page.getByRole("link", { name: "Sync" }).first().click();
      await page.getByRole("heading", { name: "Timeout" }).getByText("1 job").waitFor();
      await gone(row(page, "mail"));
      await page.locator(".chip").click();
      await page.getByRole("heading", { name: "Timeout" }).getByText("3 jobs").waitFor();
    },
  },
  {
    title: "an error is retried whole, or those of one type",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open(`errors/${await groupOf(test, "Timeout")}?type=SendMail`);
      await page.getByRole("button", { name: "Retry all" }).click();
      const dialog = page.getByRole("dialog", { name: "of type SendMail with Timeout" });
      await dialog.getByRole("button", { name: "Retry 2 jobs" }).click();
      await page.getByText("Done: 2 jobs retried.").waitFor();
      await page.getByText("No failed job has this error any more.").waitFor();
      assert.equal((await counts(test)).ready, 2);
      assert.equal((await counts(test)).retrying, 2);
    },
  },
];
