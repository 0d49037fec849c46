"""Does in a sandbox what the Containerfile says, on this system instead of the base image, and runs
the server as the image would: `image.py CONTAINERFILE TARBALL`. It ends at the first surprise."""

import json
import signal
import subprocess
import sys

import containerfile

SECONDS_MAX = 60


def build(path, tarball):
    (added,) = containerfile.all_of(path, "ADD")
    source, place = added.split()
    assert source == "${TARBALL}", source
    subprocess.run(["tar", "-xf", tarball, "-C", place], check=True)
    for command in containerfile.all_of(path, "RUN"):
        subprocess.run(["sh", "-c", command], check=True)


def serve(path):
    (user,) = containerfile.all_of(path, "USER")
    number, group = map(int, user.split(":"))
    words = [
        word
        for name in ("ENTRYPOINT", "CMD")
        for word in json.loads(containerfile.all_of(path, name)[0])
    ]
    chosen = {"FAKTORY_PASSWORD": "secret", "MILLRACE_INSECURE": "beanstalk"}
    server = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **containerfile.variables(path), **chosen},
        user=number,
        group=group,
        extra_groups=[],
        text=True,
    )
    with server:
        lines = list(iter(server.stdout.readline, "ready\n"))
        assert lines == [
            "beanstalk: [::]:11300\n",
            "faktory: [::]:7419\n",
            "web: [::]:7420\n",
        ], lines
        health = subprocess.run(containerfile.health_command(path))
        assert health.returncode == 0, health
        (stop,) = containerfile.all_of(path, "STOPSIGNAL")
        server.send_signal(signal.Signals[stop])
        assert server.wait(SECONDS_MAX) == 0, server.returncode


if __name__ == "__main__":
    build(*sys.argv[1:])
    serve(sys.argv[1])
