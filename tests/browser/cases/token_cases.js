// A user makes a token, sees its text once, and revokes it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { violations } from "../axe.js";
import { fill, row } from "../helpers.js";

const PROGRAM = process.env.MILLRACE ?? "build/release/millrace";
const PASSWORD = "open sesame, please";

/** Ana may view and operate `mail*`. */
async function serveAna({ server }) {
  const hash = execFileSync(PROGRAM, ["users", "hash"], { input: `${PASSWORD}\n` });
  const file = path.join(server.directory, "users.toml");
  fs.writeFileSync(
    file,
    '[[role]]\nname = "postman"\nqueues = ["mail*"]\nmay = ["view", "operate"]\n' +
      `[[user]]\nname = "ana"\nroles = ["postman"]\nweb-password = "${String(hash).trim()}"\n` +
      '[[listener]]\nprotocol = "beanstalk"\nuser = "ana"\n',
    { mode: 0o600 },
  );
  await server.kill();
  server.flags = [`--users=${file}`];
  await server.start();
}

export const cases = [
  {
    title: "a token is made, shown once, used and revoked",
    async run(test) {
      await fill(test);
      await serveAna(test);
      const { page, server } = test;
      await test.open("");
      await page.getByLabel("User name").fill("ana");
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByRole("link", { name: "Tokens" }).click();
      await page.getByText("No tokens.").waitFor();
      assert.deepEqual(await violations(page), []);

      await page.getByRole("button", { name: "New token…" }).click();
      await page.getByLabel("Name", { exact: true }).fill("<b>deploy</b>");
      await page.getByLabel("operate").check();
      await page.getByRole("button", { name: "Make token" }).click();
      // What was typed stays when it is refused.
      await page.getByText("ana lacks the right view for all queues").waitFor();
      assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "<b>deploy</b>");
      assert.equal(await page.getByLabel("operate").isChecked(), true);
      assert.deepEqual(await violations(page), []);
      await page.getByLabel("Queues, such as mail*").fill("mail*, mail");
      await page.getByRole("button", { name: "Make token" }).click();

      const text = page.locator("dialog pre");
      await text.waitFor();
      assert.deepEqual(await violations(page), []);
      const token = await text.innerText();
      assert.match(token, /^mrt_[\w-]{43}$/);
      await page.getByRole("button", { name: "Copy token" }).waitFor();
      await page.getByRole("button", { name: "Close" }).click();
      await row(page, "<b>deploy</b>").getByText("view, operate").waitFor();
      assert.doesNotMatch(await page.content(), new RegExp(token));
      assert.deepEqual(await violations(page), []);

      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByRole("button", { name: "New token…" }).click();
      await page.getByLabel("Expires in").waitFor();
      assert.deepEqual(await violations(page), []);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);

      const ask = async () => {
        const headers = { Authorization: `Bearer ${token}` };
        return (await fetch(`${server.base}api/v1/queues`, { headers })).status;
      };
      assert.equal(await ask(), 200);
      await test.open("tokens");
      await page.getByRole("button", { name: "Revoke <b>deploy</b>" }).click();
      await page.getByRole("button", { name: "Revoke", exact: true }).click();
      await page.getByText("No tokens.").waitFor();
      assert.equal(await ask(), 401);

      await page.keyboard.press("/");
      await page.keyboard.type("tokens");
      await page.getByRole("option", { name: "Tokens" }).waitFor();
    },
  },
];
