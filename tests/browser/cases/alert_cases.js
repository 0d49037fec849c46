// The page of alerts.
import assert from "node:assert/strict";
import { accessibleCases } from "../axe.js";
import { faktory, row, until } from "../helpers.js";

const CONFIG = `
[[alert]]
name = "night"
url = "http://127.0.0.1:1/hush"
for = "0s"
on = ["paused", { queue = "a-queue-with-a-name-that-is-rather-long-*", latency = "5m" }]

[[alert]]
name = "a-name-that-somebody-has-made-as-long-as-it-may-be-on-any-phone"
form = "slack"
url = "https://hooks.example.com/hush"
on = ["disk", "takeover", { dead = 100, within = "10m" }]
`;

/** A paused queue: the condition holds, and nobody takes the message. */
async function fill(test) {
  const client = await faktory(test);
  await client.push("mail-0001", "SendMail", "mail");
  await client.command("QUEUE", "PAUSE mail");
  const holds = async () => {
    const { alerts } = await test.server.api("alerts");
    return alerts[0].conditions[0].state !== "ok";
  };
  await until(holds, "the condition holds", 400);
}

export const cases = [
  ...accessibleCases("alerts", CONFIG, fill, async (page, { base }, look) => {
    await page.goto(`${base}server`);
    await page.getByRole("link", { name: "Alerts", exact: true }).click();
    await row(page, "night").first().waitFor();
    await look("list");
    await page.getByRole("button", { name: "Silence… night" }).click();
    await page.getByText("No messages are sent until").waitFor();
    await look("silence");
  }),
  ...accessibleCases("no alerts", "", () => {}, async (page, { base }, look) => {
    await page.goto(`${base}alerts`);
    await page.getByText("No alerts.").waitFor();
    await look("list");
  }),
  {
    title: "an alert is silenced and tested, and Activity says so",
    config: CONFIG,
    async run(test) {
      await fill(test);
      const { page, server } = test;
      await test.open("alerts");
      await page.getByText("mail is paused with 1 waiting job").waitFor();
      assert.doesNotMatch(await page.content(), /hush/);
      await page.getByRole("button", { name: "Silence… night" }).click();
      await page.getByLabel("Silence it").selectOption("for a day");
      await page.getByRole("button", { name: "Silence", exact: true }).click();
      await page.getByText("silenced, ends").waitFor();
      await page.getByRole("button", { name: "Test night" }).click();
      await page.getByText("A test of night is being sent.").waitFor();
      await page.getByRole("button", { name: "End silence night" }).click();
      await page.getByText("silenced, ends").waitFor({ state: "detached" });
      assert.equal((await server.api("alerts")).alerts[0].silenced_until, null);
      await test.open("activity");
      for (const words of ["Silence alert", "Test alert", "End silence of alert"])
        await page.getByRole("cell", { name: words, exact: true }).waitFor();
    },
  },
];
