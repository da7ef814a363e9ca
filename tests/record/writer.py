"""A process that appends to a journal until it is done, or killed: path, run, and how many entries.

It says ``ready``, waits for a line, opens the journal, and prints each number that it has appended.
"""

import sys

from rightcall.core.entry import StepDone
from rightcall.record.jsonl import JsonLinesJournal
from rightcall.record.sqlite import SqliteJournal

JOURNALS = {".jsonl": JsonLinesJournal, ".sqlite": SqliteJournal}


def note(number: int) -> StepDone:
    """The entry of that number: some are long, so that writing them takes a while."""
    return StepDone(key=f"n{number}", value="é✓ " * (20_000 if number % 7 == 0 else 1))


def main(path: str, run: str, first: int, count: int) -> None:
    """Append ``count`` entries."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    with JOURNALS[path[path.rindex(".") :]](path) as journal:
        for number in range(first, first + count):
            journal.append(run, note(number))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
