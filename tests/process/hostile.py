"""A program that does as it is told, most of it bad. Run by path, with a mark to be found by.

Everything it starts ends by itself after a while, so that a broken runner breaks no machine.
"""

# ruff: noqa: PTH109, PTH123, PTH208, T201 - a small program that starts fast and talks on stdout

import json
import os
import signal
import sys
import time

LONGEST = 30


def show() -> None:
    """What a program can see of how it was started."""
    with open("/proc/self/environ", "rb") as file:
        environment = file.read().split(b"\0")[:-1]
    seen = {
        "argv": sys.argv[2:],
        "environment": sorted(os.fsdecode(each) for each in environment),
        # The listing itself is open while it is made.
        "descriptors": sorted(int(each) for each in os.listdir("/proc/self/fd"))[:-1],
        "leads its group": os.getpgrp() == os.getpid(),
        "leads its session": os.getsid(0) == os.getpid(),
        "directory": os.getcwd(),
        "stdin": sys.stdin.read(),
    }
    print(json.dumps(seen))


def sleep() -> None:
    time.sleep(LONGEST)


def stubborn() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("ready", flush=True)
    sleep()


def polite() -> None:
    def leave(*_: object) -> None:
        print("bye", flush=True)
        sys.exit(3)

    signal.signal(signal.SIGTERM, leave)
    print("ready", flush=True)
    sleep()


def stopped() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def family() -> None:
    """Three generations that ignore SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(3):
        if os.fork():
            break
    else:
        print("ready", flush=True)
    sleep()


def heir() -> None:
    """Leave at SIGTERM, and leave a child behind that does not."""
    if os.fork() == 0:
        stubborn()
    sleep()


def daemon() -> None:
    """Leave a daemon behind, in a session of its own, which holds the output open."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            sleep()
        os._exit(0)
    os.wait()


def daemon_and_stay() -> None:
    daemon()
    print("ready", flush=True)
    sleep()


def bomb() -> None:
    """Double until there are 512, each in its own session, and none ends by itself."""
    for _ in range(9):
        if os.fork() == 0:
            os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep()


def comet() -> None:
    """Be somebody else all the time: fork, begin a session, let the parent exit; 3,000 times."""
    for _ in range(3000):
        if os.fork():
            os._exit(0)
        os.setsid()
    sleep()


def count() -> None:
    """The numbers up to what was asked for, a line each."""
    for start in range(0, int(sys.argv[2]), 1000):
        end = min(start + 1000, int(sys.argv[2]))
        sys.stdout.write("".join(f"{number}\n" for number in range(start, end)))


def flood() -> None:
    page = b"x" * 65535 + b"\n"
    while True:
        os.write(1, page)


def dribble() -> None:
    for _ in range(5000):
        os.write(1, b".")


def both() -> None:
    os.write(1, b"out\n")
    os.write(2, b"err\n")


def leave() -> None:
    sys.exit(int(sys.argv[2]))


def killed() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def kill_keeper() -> None:
    """End whoever watches over this, and go on."""
    os.kill(os.getppid(), signal.SIGKILL)
    sleep()


def stop_keeper() -> None:
    """Stop whoever watches over this, and go on."""
    os.kill(os.getppid(), signal.SIGSTOP)
    stubborn()


def stop_keeper_from_afar() -> None:
    """Leave a daemon behind that stops the keeper, and stay."""
    keeper = os.getppid()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.kill(keeper, signal.SIGSTOP)
            stubborn()
        os._exit(0)
    os.wait()
    stubborn()


def stop_both() -> None:
    """Stop the keeper and the warden, where they can be seen."""
    keeper = os.getppid()
    with open(f"/proc/{keeper}/stat", "rb") as file:
        warden = int(file.read().rpartition(b")")[2].split()[1])
    for each in (keeper, warden):
        if each > 1:
            os.kill(each, signal.SIGSTOP)
    stubborn()


def trace_keeper() -> None:
    """Hold the keeper as a debugger would."""
    import ctypes  # noqa: PLC0415 - slow

    seize, interrupt = 0x4206, 0x4207
    library = ctypes.CDLL(None, use_errno=True)
    keeper = ctypes.c_long(os.getppid())
    held = library.ptrace(seize, keeper, None, None) or library.ptrace(interrupt, keeper, None, None)
    print("held" if held == 0 else os.strerror(ctypes.get_errno()), flush=True)
    stubborn()


def count_processes() -> None:
    """Its own number, its parent's, and how many there are at all."""
    print(os.getpid(), os.getppid(), len(list(filter(str.isdigit, os.listdir("/proc")))))


if __name__ == "__main__":
    signal.alarm(LONGEST)
    globals()[sys.argv[1]]()
