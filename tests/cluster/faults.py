"""What is done to a cluster while clients work. Each fault ends with everything running again."""

import signal
import time

from engines import wait_for

ENGINE_AWAY = 2.0  # s, for a member that was killed


class Faults:
    def __init__(self, cluster, random, report):
        self.cluster = cluster
        self.random = random
        self.report = report
        self.done = []  # (when it began, its name)

    def names(self):
        """Those that this cluster allows."""
        names = [
            "kill_leader",
            "kill_standby",
            "terminate_leader",
            "pause_leader",
            "wipe_standby",
            "wipe_leader",
        ]
        if self.cluster.engine.name == "nats":
            names += ["kill_member", "roll_everything"]
            names += ["pause_member"] if self.cluster.engine.survives_cuts else []
        else:
            names += ["promote_standby", "restart_primary"]
        if self.cluster.network.can_cut:
            names += ["cut_leader", "cut_leader_sends", "cut_leader_hears"]
            if self.cluster.engine.name == "nats" and self.cluster.engine.survives_cuts:
                names += ["cut_member"]
        return names

    def do(self, name):
        begin = time.time()
        self.done.append((begin, name))
        getattr(self, name)()
        self.report(f"{name}: {time.time() - begin:.1f} s")

    def past_lease(self):
        """A time beyond the lease, so that another node takes over."""
        return self.cluster.lease * self.random.uniform(1.6, 3)

    def standby(self):
        leader = self.cluster.leader()
        return self.random.choice([node for node in self.cluster.nodes if node is not leader])

    def wait_for_takeover(self, before):
        """A node that leads later than the `before` takeovers."""
        wait_for(lambda: len(self.cluster.takeovers()) > before, "another node leads")

    # ---- nodes

    def kill_leader(self):
        before = len(self.cluster.takeovers())
        leader = self.cluster.leader()
        leader.kill()
        self.wait_for_takeover(before)
        leader.start()

    def kill_standby(self):
        node = self.standby()
        node.kill()
        node.start()

    def terminate_leader(self):
        before = len(self.cluster.takeovers())
        leader = self.cluster.leader()
        status = leader.terminate()
        if status != 0:
            raise AssertionError(f"a node ended with status {status} after SIGTERM")
        self.wait_for_takeover(before)
        leader.start()

    def pause_leader(self):
        leader = self.cluster.leader()
        leader.pause()
        time.sleep(self.past_lease())
        leader.resume()

    def wipe_standby(self):
        self.wipe(self.standby())

    def wipe_leader(self):
        before = len(self.cluster.takeovers())
        self.wipe(self.cluster.leader())
        self.wait_for_takeover(before)

    def wipe(self, node):
        node.kill()
        node.wipe()
        node.start()

    # ---- members of the engine

    def kill_member(self):
        member = self.random.choice(self.cluster.engine.members)
        member.kill()
        time.sleep(ENGINE_AWAY)
        member.start()
        member.wait_until_well()

    def pause_member(self):
        member = self.random.choice(self.cluster.engine.members)
        member.signal(signal.SIGSTOP)
        time.sleep(self.random.uniform(1, 6))
        member.signal(signal.SIGCONT)
        member.wait_until_well()

    def roll_everything(self):
        """One after the other, as for an upgrade: first all members, then all nodes."""
        for member in self.cluster.engine.members:
            member.signal(signal.SIGTERM)
            member.process.wait()
            member.start()
            member.wait_until_well()
        for node in self.cluster.nodes:
            node.terminate()
            node.start()
            time.sleep(1)

    def promote_standby(self):
        engine = self.cluster.engine
        engine.fail_over()
        time.sleep(self.random.uniform(0, 2))
        engine.add_standby()

    def restart_primary(self):
        """As after a crash of its processes alone."""
        primary = self.cluster.engine.primary
        primary.signal(signal.SIGQUIT)
        primary.process.wait()
        primary.start()

    # ---- the network

    def engine_hosts(self):
        return [member.host for member in self.cluster.engine.members]

    def cut_leader(self):
        """From the engine, in both directions. Clients still reach it."""
        host = self.cluster.leader().host
        for other in self.engine_hosts():
            self.cluster.network.cut_both(host, other)
        self.heal_later()

    def cut_leader_sends(self):
        host = self.cluster.leader().host
        for other in self.engine_hosts():
            self.cluster.network.cut(host, other)
        self.heal_later()

    def cut_leader_hears(self):
        """It can append, and does not learn of that."""
        host = self.cluster.leader().host
        for other in self.engine_hosts():
            self.cluster.network.cut(other, host)
        self.heal_later()

    def cut_member(self):
        """From everything that is not a client of the nodes."""
        member = self.random.choice(self.cluster.engine.members)
        for other in self.cluster.network.hosts:
            if other is not member.host:
                self.cluster.network.cut_both(member.host, other)
        time.sleep(self.random.uniform(2, 6))
        self.cluster.network.heal()
        member.wait_until_well()

    def heal_later(self):
        time.sleep(self.past_lease() + self.random.uniform(0, 3))
        self.cluster.network.heal()
