# In a folder with this file alone:
#   python3 -m venv venv
#   venv/bin/pip install faktory==1.0.0
#   venv/bin/python batches.py
# It prints `Import 0`, `Import 1` and `Import 2`, then `Report 7`, and then `Done 7`.
import faktory

client = faktory.Client()
client.connect()


def command(verb, value):
    client.faktory.reply("BATCH " + verb, value)
    return next(client.faktory.get_message())


bid = command("NEW", {
    "description": "import of May",
    "complete": {"jobtype": "Report", "args": [7]},
    "success": {"jobtype": "Done", "args": [7]},
})
for part in range(3):
    client.queue("Import", args=[part], custom={"bid": bid})
command("COMMIT", bid)
client.disconnect()

worker = faktory.Worker(queues=["default"], concurrency=1, use_threads=True)
for jobtype in ("Import", "Report", "Done"):
    worker.register(jobtype, lambda *args, name=jobtype: print(name, *args, flush=True))
worker.run()
