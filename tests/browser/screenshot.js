// Takes the pictures in docs/images of a server that works: web-ui.png is the overview, queue.png
// the page of a queue.
//
//     MILLRACE=build/release/millrace node tests/browser/screenshot.js [seconds of work]
//
// More seconds fill more of the charts.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { Beanstalk, Faktory } from "./clients.js";
import { Server } from "./server.js";

const IMAGES = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../docs/images");
/** File, page, height. */
const PICTURES = [
  ["web-ui.png", "", 820],
  ["queue.png", "queues/thumbnails", 1000],
];
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const WORK_MS = Number(process.argv[2] ?? 90) * 1000;
const STEP_MS = 100;
// A worker that is silent for a minute is dropped.
const BEAT_STEPS = 100;
const QUEUES = { mail: "SendMail", thumbnails: "ResizeImage", billing: "ChargeCard" };
const LATE = "2099-01-01T00:00:00Z";

const pause = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** One job of each queue; the workers fall behind in one of them, and some jobs fail. */
async function step(number, producer, worker) {
  for (const [queue, jobtype] of Object.entries(QUEUES)) {
    const count = 2 + Math.round(2 * Math.sin(number / 40) + (number % 3));
    for (let i = 0; i < count; i += 1) {
      await producer.push(`${queue}-${number}-${i}`, jobtype, queue, [number, i]);
    }
    const kept = queue === "thumbnails" && number % 4 === 0 ? 1 : 0;
    for (let i = kept; i < count; i += 1) {
      if ((number + i) % 31 === 0) {
        await worker.fail(queue, "Timeout", "no answer after 3 s");
        continue;
      }
      const { jid } = await worker.fetch(queue);
      await worker.command("ACK", { jid });
    }
  }
}

async function work(server) {
  const producer = await Faktory.open(server.faktory);
  const worker = await Faktory.open(server.faktory, "worker-1");
  const tube = new Beanstalk(server.beanstalk);
  for (let i = 0; i < 12; i += 1) await tube.put("reports", `{"report": ${i}}`, 60 * (i + 1));
  for (let i = 0; i < 5; i += 1) {
    await producer.push(`later-${i}`, "SendNewsletter", "mail", [i], { at: LATE });
  }
  await producer.push("dies-0001", "ChargeCard", "billing", ["card"], { retry: -1 });
  await worker.fail("billing", "CardError", "card was declined");
  const end = Date.now() + WORK_MS;
  for (let number = 1; Date.now() < end; number += 1) {
    await step(number, producer, worker);
    if (number % BEAT_STEPS === 0) await worker.command("BEAT", { wid: "worker-1" });
    await pause(STEP_MS);
  }
  await producer.push("held-0001", "ResizeImage", "held", []);
  await worker.fetch("held");
  return [producer, worker, tube];
}

const server = await Server.make();
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({
    colorScheme: "light",
    viewport: { width: 1180, height: PICTURES[0][2] },
  });
  await page.goto(server.base);
  const clients = await work(server);
  for (const [file, address, height] of PICTURES) {
    await page.setViewportSize({ width: 1180, height });
    await page.goto(server.base + address);
    await pause(2500);
    await page.screenshot({ path: path.join(IMAGES, file) });
  }
  clients.forEach((client) => client.end());
} finally {
  await browser.close();
  await server.end();
}
