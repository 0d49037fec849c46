// The page of one error.
import assert from "node:assert/strict";
import { accessibleCases } from "../axe.js";
import { beanstalk, counts, faktory, gone, row } from "../helpers.js";

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
    await page.getByRole("heading", { name: "Newest failed job" }).waitFor();
    await look("group");
  }),
  {
    title: "texts with escapes that are cut or no escapes break no page",
    async run(test) {
      const client = await faktory(test);
      const tube = beanstalk(test);
      await tube.put("odd", "C:\\users\\name \\u00e");
      for (let n = 0; n < 7; n += 1)
        await tube.put("odd", `"${"y".repeat(232 + n)}\\u00e9\\u00e9 z"`);
      for (let n = 0; n < 7; n += 1) {
        const args = `["${"x".repeat(232 + n)}\\u00e9\\"more"]`;
        const job = `{"jid":"cut-0000${n}","jobtype":"Cut","queue":"cut","args":${args}}`;
        await client.command("PUSH", job);
        await client.fail("cut", "Broken", `at \\u00e and \\" and C:\\users ${"m".repeat(500)}`);
      }
      const { page } = test;
      await test.open("jobs?state=ready&queue=odd");
      await row(page, "C:\\users\\name").waitFor();
      assert.equal(await page.locator("tbody tr").count(), 8);
      await test.open("jobs?state=retrying");
      await row(page, "Cut").first().waitFor();
      await test.open("errors");
      await page.getByRole("link", { name: "Broken", exact: true }).click();
      await page.getByRole("button", { name: "Delete all" }).click();
      await page.getByRole("dialog").getByRole("button", { name: /^Delete/ }).click();
      await page.getByText("7 jobs were deleted.").waitFor();
    },
  },
  {
    title: "an error of a job without retries has its queue, its type and its arguments",
    async run(test) {
      const client = await faktory(test);
      await client.push("once-0001", "Once", "single", ["the argument"], { retry: 0 });
      await client.fail("single", "Dropped", "no luck");
      const { page } = test;
      await test.open("errors");
      const error = row(page, "Dropped");
      await error.getByRole("link", { name: "single" }).waitFor();
      await error.getByText("Once").waitFor();
      await error.getByRole("link", { name: "Dropped", exact: true }).click();
      await page.getByText('["the argument"]').waitFor();
      await page.getByRole("link", { name: /^Once/ }).click();
      await page.getByRole("heading", { name: "Timeline" }).waitFor();
      await page.getByText('["the argument"]').waitFor();
    },
  },
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
    title: "errors that differ in ids and names are one, and are found by words",
    async run(test) {
      const client = await faktory(test, "worker-1");
      for (let i = 0; i < 60; i += 1) {
        await client.push(`fails-${1000 + i}`, "Sync", "crm");
        const uuid = `3f2504e0-4f${String(i).padStart(2, "0")}-41d3-9a0c-0305e82c3301`;
        await client.fail("crm", "NotFound", `no user ${uuid} 'Jane ${i}'`);
      }
      for (let i = 0; i < 60; i += 1) {
        await client.push(`other-${1000 + i}`, "Mail", "mail");
        const letters = String.fromCharCode(97 + (i % 26), 97 + Math.floor(i / 26));
        await client.fail("mail", `Error-${letters}`, "broken");
      }
      const { page } = test;
      await test.open("errors");
      await page.getByText("61 groups").waitFor();
      assert.equal(await page.locator("tbody tr").count(), 50);
      await row(page, "no user # #").getByText("60", { exact: true }).waitFor();
      await page.getByRole("link", { name: "Next page" }).click();
      await gone(row(page, "no user # #"));
      assert.equal(await page.locator("tbody tr").count(), 11);
      await page.getByLabel("Filter errors").fill("crm");
      await page.getByText("1 group", { exact: true }).waitFor();
      await row(page, "NotFound").waitFor();
      await page.getByLabel("Filter errors").fill("nothing has this");
      await page.getByText("No errors match “nothing has this”.").waitFor();
      await test.open("errors?queue=cr*");
      await page.getByText("1 group", { exact: true }).waitFor();
      await page.getByLabel("Job type").fill("Mail");
      await page.keyboard.press("Enter");
      await page.getByText("No errors match queue “cr*”, job type “Mail”.").waitFor();
    },
  },
  {
    title: "an error that is muted leaves the list, and its note stays",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("errors");
      await page.getByText("2 groups").waitFor();
      await page.getByRole("link", { name: "Timeout", exact: true }).click();
      await page.getByRole("button", { name: "Add note" }).click();
      await page.getByLabel("Everyone sees it").fill("Ask the network team.");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Ask the network team.").waitFor();
      await page.getByRole("button", { name: "Mute" }).click();
      await page.getByLabel("Mute it").selectOption("until 6 jobs have it (3 now)");
      await page.getByRole("dialog").getByRole("button", { name: "Mute" }).click();
      await page.getByText("muted below 6 jobs").waitFor();
      await test.open("errors");
      await page.getByText("1 group", { exact: true }).waitFor();
      await gone(row(page, "Timeout"));
      await page.getByRole("link", { name: "1 muted" }).click();
      await row(page, "Ask the network team.").getByText("muted below 6 jobs").waitFor();
      await test.open("types/Sync");
      const top = page.getByRole("region", { name: "Top errors" });
      await top.getByRole("link", { name: "KeyError" }).waitFor();
      assert.equal(await top.getByRole("link", { name: "Timeout" }).count(), 0);
      await test.open("activity");
      await row(page, "Mute error")
        .getByText("Timeout after # s: not muted → muted below 6 jobs")
        .waitFor();
      await row(page, "Edit note of error")
        .getByText("no note → note: Ask the network team.")
        .waitFor();
      await row(page, "Mute error").getByRole("link").first().click();
      await page.getByRole("button", { name: "Unmute" }).click();
      await page.getByRole("button", { name: "Mute" }).waitFor();
      await gone(page.getByText("muted below"));
    },
  },
  {
    title: "the pages of a type and of a queue have their errors",
    async run(test) {
      await fill(test);
      const { page } = test;
      const top = page.getByRole("region", { name: "Top errors" });
      await test.open("types/Sync");
      await top.getByRole("link", { name: "KeyError" }).waitFor();
      await top.getByRole("link", { name: "Timeout" }).waitFor();
      await test.open("queues/mail");
      await top.getByRole("row", { name: "Timeout" }).getByText("3", { exact: true }).waitFor();
      assert.equal(await top.getByRole("link", { name: "KeyError" }).count(), 0);
    },
  },
  {
    title: "a link to an error that no job has any more says which it was",
    async run(test) {
      await fill(test);
      const group = await groupOf(test, "KeyError");
      const [{ jobs }] = [await test.server.api("jobs?state=retrying&error=KeyError")];
      const killed = await fetch(`${test.server.base}api/v1/jobs/${jobs[0].id}/delete`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
      });
      assert.equal(killed.status, 200);
      await test.open(`errors/${group}`);
      await test.page.getByRole("heading", { name: "KeyError" }).waitFor();
      await test.page.getByText("no key", { exact: true }).waitFor();
    },
  },
  {
    title: "an error whose retry is spread says that its jobs are scheduled",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs?state=retrying");
      await page.getByRole("button", { name: "Retry all 3" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Enqueue them").selectOption("over 10 minutes");
      await dialog.getByRole("button", { name: "Retry 3 jobs" }).click();
      await page.getByText("3 jobs are scheduled over 10 minutes").waitFor();
      await page.getByText("Done: 3 jobs scheduled over 10 minutes.").waitFor();
      await page.getByRole("link", { name: "show scheduled jobs" }).click();
      await row(page, "Sync").first().waitFor();
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
      // What the page is about stays, and what has happened.
      const nothing = "No dead or retrying jobs of type SendMail with this error.";
      await page.getByText(nothing).waitFor();
      await page.getByText("2 jobs were retried.").waitFor();
      await page.getByRole("heading", { name: "Timeout" }).waitFor();
      await page.getByText("Type: SendMail").waitFor();
      assert.equal((await counts(test)).ready, 2);
      assert.equal((await counts(test)).retrying, 2);
    },
  },
];
