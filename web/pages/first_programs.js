// Programs to paste for a new server. This file needs no other one.
/** What the button pushes, and the programs do. */
export const TEST_JOB = { jobtype: "Greet", queue: "default", args: ["world"] };

/**
 * Name, how to get the library, program. The first line of a program is the command that starts it,
 * as a comment. `./dev interop` runs them as they are.
 */
export const CLIENTS = [
  [
    "Python",
    "pip install pyfaktory",
    (url) => `# FAKTORY_URL=${url} python worker.py
from pyfaktory import Client, Consumer

def greet(name):
    print("hello", name, flush=True)

if __name__ == "__main__":
    with Client(role="consumer") as client:
        consumer = Consumer(client=client, queues=["default"], concurrency=1)
        consumer.register("Greet", greet)
        consumer.run()`,
  ],
  [
    "JavaScript",
    "npm install faktory-worker",
    (url) => `// FAKTORY_URL=${url} node worker.js
const faktory = require("faktory-worker");

faktory.register("Greet", async (name) => console.log("hello", name));
faktory.work();`,
  ],
  [
    "Go",
    "go get github.com/contribsys/faktory_worker_go",
    (url) => `// FAKTORY_URL=${url} go run worker.go
package main

import (
    "context"
    "fmt"

    worker "github.com/contribsys/faktory_worker_go"
)

func main() {
    manager := worker.NewManager()
    manager.Register("Greet", func(ctx context.Context, args ...any) error {
        fmt.Println("hello", args[0])
        return nil
    })
    manager.Run()
}`,
  ],
  [
    "Ruby",
    "gem install beaneater",
    (_, address) => `# ruby worker.rb
require "beaneater"

beanstalk = Beaneater.new("${address}")
beanstalk.tubes["default"].put("world")
job = beanstalk.tubes.reserve(10)
puts "hello #{job.body}"
job.delete`,
  ],
];
