// The two job protocols, as thin as the tests need them.
import net from "node:net";

class Line {
  constructor(port) {
    this.socket = net.connect(port, "127.0.0.1");
    this.input = Buffer.alloc(0);
    this.waiting = null;
    this.socket.on("data", (bytes) => {
      this.input = Buffer.concat([this.input, bytes]);
      this.waiting?.();
    });
    this.socket.on("error", () => {});
  }

  async take(find) {
    for (;;) {
      const end = find();
      if (end !== null) {
        const taken = this.input.subarray(0, end);
        this.input = this.input.subarray(end);
        return taken;
      }
      await new Promise((resolve) => {
        this.waiting = resolve;
      });
    }
  }

  async line() {
    const bytes = await this.take(() => {
      const at = this.input.indexOf("\r\n");
      return at < 0 ? null : at + 2;
    });
    return bytes.toString().slice(0, -2);
  }

  async bytes(count) {
    const all = await this.take(() => (this.input.length >= count + 2 ? count + 2 : null));
    return all.subarray(0, count);
  }

  end() {
    this.socket.destroy();
  }
}

export class Beanstalk extends Line {
  async command(text) {
    this.socket.write(`${text}\r\n`);
    return this.line();
  }

  /** The job's id. */
  async put(tube, body, delay = 0) {
    await this.command(`use ${tube}`);
    const bytes = Buffer.from(body);
    this.socket.write(
      Buffer.concat([
        Buffer.from(`put 0 ${delay} 60 ${bytes.length}\r\n`),
        bytes,
        Buffer.from("\r\n"),
      ]),
    );
    return Number((await this.line()).split(" ")[1]);
  }
}

export class Faktory extends Line {
  static async open(port, wid, labels = ["node"]) {
    const client = new Faktory(port);
    await client.line();
    await client.command(
      "HELLO",
      wid ? { v: 2, wid, hostname: "box", pid: 7, labels } : { v: 2 },
    );
    return client;
  }

  async command(verb, value) {
    this.socket.write(`${verb} ${typeof value === "string" ? value : JSON.stringify(value)}\r\n`);
    const line = await this.line();
    if (!line.startsWith("$")) return line;
    return line === "$-1" ? null : (await this.bytes(Number(line.slice(1)))).toString();
  }

  push(jid, jobtype, queue, args = [], more = {}) {
    return this.command("PUSH", { jid, jobtype, queue, args, ...more });
  }

  async fetch(queue) {
    return JSON.parse(await this.command("FETCH", queue));
  }

  async fail(queue, errtype, message) {
    const { jid } = await this.fetch(queue);
    return this.command("FAIL", { jid, errtype, message, backtrace: ["app.js:1", "run.js:2"] });
  }
}
