// The program under test, on ports and in a directory of its own.
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";

const PROGRAM = process.env.MILLRACE ?? "build/release/millrace";

// Below the ports that the system gives to clients (from 32,768), and none of those that
// tests/support/ports.py gives to tests that run at the same time.
const PORT_FIRST = 30000;
const PORT_COUNT = 2000;
let portNext = Math.floor(Math.random() * PORT_COUNT);

function isFree(port) {
  return new Promise((resolve) => {
    const probe = net.createServer().on("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}

async function freePort() {
  for (;;) {
    const port = PORT_FIRST + (portNext++ % PORT_COUNT);
    if (await isFree(port)) return port;
  }
}

/** Ends the servers of a run that was killed: tests/support/keeper.py says how. */
const keeper = spawn("python3", [fileURLToPath(new URL("../support/keeper.py", import.meta.url))], {
  stdio: ["pipe", "ignore", "inherit"],
  detached: true,
});
keeper.unref();
keeper.stdin.on("error", () => {});
keeper.stdin.unref?.();

export class Server {
  /** With these flags, and this text as its config file. */
  static async make(flags = [], config = "") {
    const server = new Server();
    server.flags = flags;
    server.directory = fs.mkdtempSync(path.join(os.tmpdir(), "millrace-browser-"));
    server.configure(config);
    server.beanstalk = await freePort();
    server.faktory = await freePort();
    server.web = await freePort();
    server.base = `http://127.0.0.1:${server.web}/`;
    return server.start();
  }

  async start() {
    const address = (port) => `127.0.0.1:${port}`;
    this.process = spawn(
      PROGRAM,
      [
        "serve",
        `--data=${this.directory}/data`,
        `--config=${this.directory}/config.toml`,
        `--beanstalk=${address(this.beanstalk)}`,
        `--faktory=${address(this.faktory)}`,
        `--web=${address(this.web)}`,
        ...this.flags,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    keeper.stdin.write(`keep ${this.process.pid}\n`);
    this.ended = new Promise((resolve) => {
      this.process.on("exit", resolve);
    });
    for await (const line of readline.createInterface({ input: this.process.stdout })) {
      if (line === "ready") return this;
    }
    throw new Error("the server did not start");
  }

  configure(text) {
    fs.writeFileSync(path.join(this.directory, "config.toml"), text);
  }

  /** It reads its config file anew. */
  reload(text) {
    this.configure(text);
    this.process.kill("SIGHUP");
  }

  async kill() {
    this.process.kill("SIGKILL");
    await this.ended;
  }

  async end() {
    await this.kill();
    fs.rmSync(this.directory, { recursive: true });
  }

  async api(target) {
    return (await fetch(`${this.base}api/v1/${target}`)).json();
  }

  /** A change that succeeds. */
  async post(target, body) {
    const response = await fetch(`${this.base}api/v1/${target}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }
}
