"""What a figure must be, and what it should be."""

from dataclasses import dataclass

# What a goal for many jobs means by many.
GOAL_JOBS = 10_000_000


@dataclass(frozen=True)
class Goal:
    floor: float
    aim: float
    sign: str

    def is_met(self, figure, limit):
        return figure <= limit if self.sign == "≤" else figure >= limit

    def verdict(self, figure):
        if self.is_met(figure, self.aim):
            return "aim"
        return "floor" if self.is_met(figure, self.floor) else "**missed**"

    def is_near(self, figure):
        """Two digits may hide on which side of a limit it is."""
        return any(abs(figure - limit) < 0.01 * limit for limit in (self.floor, self.aim))

    def columns(self, figure, unit=""):
        """Of a table: floor, aim, verdict."""
        return (f"{self.sign} {self.floor}{unit} | {self.sign} {self.aim}{unit} "
                f"| {self.verdict(figure)}")


def at_least(floor, aim):
    return Goal(floor, aim, "≥")


def at_most(floor, aim):
    return Goal(floor, aim, "≤")
