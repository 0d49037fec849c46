// What a job page tells of runs that did not end well.
import { accessibleCases } from "../axe.js";
import { faktory } from "../helpers.js";

/** A job that has failed twice, each time with an error of its own. */
async function fill(test) {
  const client = await faktory(test, "worker-1");
  await client.push("mail-0001", "Mail", "mail", [1]);
  for (const [errtype, message] of [
    ["FirstError", "no route"],
    ["SecondError", "no host"],
  ]) {
    await client.fetch("mail");
    const run = { jid: "mail-0001", errtype, message, backtrace: [`${errtype}.rb:1`, "main.rb:2"] };
    await client.command("FAIL", run);
    const filter = { jids: ["mail-0001"] };
    await client.command("MUTATE", { cmd: "requeue", target: "retries", filter });
  }
}

export const cases = [
  ...accessibleCases("attempts", "", fill, async (page, { base }, look) => {
    await page.goto(`${base}jobs/1`);
    await page.getByText("Attempt 2 failed", { exact: true }).waitFor();
    await look("job");
  }),
  {
    title: "the first error of a job is there after the second one",
    async run(test) {
      await fill(test);
      const { page } = test;
      await test.open("jobs/1");
      const attempts = page.locator("section", {
        has: page.getByRole("heading", { name: "Timeline" }),
      });
      await attempts.getByText("FirstError: no route").waitFor();
      await attempts.getByText("SecondError: no host").waitFor();
      await attempts.getByRole("link", { name: "box:7" }).first().waitFor();
      await attempts.getByText("2 lines").first().click();
      await attempts.getByText("FirstError.rb:1").waitFor();
    },
  },
];
