"""Who is measured, and doing what: the clients, the rows of the benchmark, and what each row aims at."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
ENVIRONMENTS = ROOT / ".venv-peers"
RESULTS = ROOT / ".bench" / "peers.json"

Kind = Literal["floor", "ours", "sdk", "framework"]


@dataclass(frozen=True)
class Peer:
    """One client: a module beside this one, and the packages that it needs."""

    name: str
    label: str
    kind: Kind
    module: str
    packages: tuple[str, ...] = ()
    """What its environment holds; nothing for the floor on sockets, which uses rightcall's."""
    versions: tuple[str, ...] = ()
    """The packages whose versions are worth telling."""

    def python(self, environments: Path) -> Path:
        return environments / (self.name if self.packages else OURS.name) / "bin" / "python"


OURS = Peer(
    "rightcall", "rightcall", "ours", "ours", ("--editable", str(ROOT)), ("rightcall", "pydantic")
)
RAW = Peer("raw", "floor: sockets", "floor", "floor_raw", (), ("msgspec",))
FLOOR = Peer(
    "aiohttp", "floor: aiohttp", "floor", "floor_aiohttp", ("aiohttp", "msgspec"), ("aiohttp", "msgspec")
)

PEERS = (
    RAW,
    FLOOR,
    OURS,
    Peer("openai", "openai SDK", "sdk", "sdk_openai", ("openai",), ("openai",)),
    Peer("anthropic", "anthropic SDK", "sdk", "sdk_anthropic", ("anthropic",), ("anthropic",)),
    Peer(
        "openai-aiohttp",
        "openai SDK on aiohttp",
        "sdk",
        "sdk_openai_aiohttp",
        ("openai[aiohttp]",),
        ("openai", "aiohttp"),
    ),
    Peer(
        "anthropic-aiohttp",
        "anthropic SDK on aiohttp",
        "sdk",
        "sdk_anthropic_aiohttp",
        ("anthropic[aiohttp]",),
        ("anthropic", "aiohttp"),
    ),
    Peer(
        "pydantic-ai",
        "pydantic-ai",
        "framework",
        "with_pydantic_ai",
        ("pydantic-ai-slim[openai]",),
        ("pydantic-ai-slim", "openai"),
    ),
    Peer(
        "openai-agents",
        "openai-agents",
        "framework",
        "with_openai_agents",
        ("openai-agents",),
        ("openai-agents", "openai"),
    ),
    Peer(
        "langchain",
        "langchain",
        "framework",
        "with_langchain",
        ("langchain", "langchain-openai"),
        ("langchain", "langgraph", "langchain-openai", "openai"),
    ),
    Peer("agno", "agno", "framework", "with_agno", ("agno", "openai"), ("agno", "openai")),
)


@dataclass(frozen=True)
class Row:
    """One kind of work, and what rightcall should reach at it."""

    name: str
    label: str
    work: str
    streamed: bool = True
    runs: int = 1000
    """How many runs a job has: at the most, or exactly where many go on at once."""
    at_once: int = 1
    rounds: int = 5
    """How often each client does it, unless that takes too long."""
    sleeps: bool = False
    """Whether its runs mostly wait for their tool: then only how long all of them take is shown."""
    measure: Literal["cpu", "wall"] = "cpu"
    floor: float | None = None
    """Rightcall's CPU time, at the most, in times of the floor's on aiohttp."""
    frameworks: float | None = None
    """The fastest framework's time, at the least, in times of rightcall's."""
    wall: float | None = None
    """Rightcall's wall time, at the most, in seconds."""
    memory: float | None = None
    """The least hungry framework's memory for a run, at the least, in times of rightcall's."""

    @property
    def fresh(self) -> bool:
        """Whether it needs a process of its own, so that the peak of memory is its own."""
        return self.at_once > 1


ROWS = (
    Row("turns1", "1 tool turn, streamed", "turns1", floor=1.0, frameworks=10),
    Row("whole1", "1 tool turn, not streamed", "turns1", streamed=False, floor=2.5, frameworks=10),
    Row("calls8", "8 calls in a turn, streamed", "calls8", floor=1.2),
    Row("wholecalls8", "8 calls in a turn, not streamed", "calls8", streamed=False, floor=1.2),
    Row("turns10", "10 turns, streamed", "turns10", floor=2.5),
    Row("turns100", "100 turns, streamed", "turns100", rounds=3, floor=2.5),
    Row("deltas", "a reply of 50,000 argument deltas", "deltas", rounds=3, floor=2.0),
    Row(
        "parallel",
        "8 calls of 100 ms in one reply",
        "parallel",
        runs=5,
        rounds=3,
        measure="wall",
        wall=0.11,
    ),
    Row(
        "slow",
        "a stream of 1 s, 4 read calls of 1 s",
        "slow",
        runs=1,
        rounds=2,
        measure="wall",
        wall=1.1,
    ),
    Row(
        "at100",
        "300 runs of 3 turns, 100 at once",
        "turns3",
        runs=300,
        at_once=100,
        rounds=3,
        measure="wall",
        frameworks=10,
        memory=5,
    ),
    Row(
        "at1000",
        "1,000 runs of 3 turns, all at once",
        "turns3",
        runs=1000,
        at_once=1000,
        rounds=3,
        measure="wall",
        frameworks=10,
        memory=5,
    ),
    *[
        Row(
            f"sleep{runs}",
            f"{runs:,} runs at once with a tool of 200 ms",
            "sleep",
            runs=runs,
            at_once=runs,
            rounds=3,
            sleeps=True,
            measure="wall",
        )
        for runs in (256, 1000)
    ],
)
COLD = 0.15
"""CPU seconds, at the most, until all that an agent of rightcall's needs is imported."""
HELP = 0.1
"""The same for ``rightcall --help``."""
GROWTH = 1.5
"""What a late turn costs, at the most, in times of an early one."""
