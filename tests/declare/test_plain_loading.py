"""What only some calls need is loaded in a thread, by the first of them."""

import subprocess
import sys

WRONG = """
import asyncio, sys, threading
import rightcall as rc
from rightcall.core.parts import Call

async def book(city: str, nights: int) -> dict[str, int]:
    "Book a room."
    return {"nights": nights}

TOOL = rc.tool(book)
assert not {"pydantic", "pydantic_core"} & sys.modules.keys()
here, threads = threading.get_ident(), {}

class Watch:
    def find_spec(self, name, path=None, target=None):
        threads.setdefault(name, threading.get_ident())

async def main():
    sys.meta_path.insert(0, Watch())
    fine, wrong = '{"city": "Oslo", "nights": 2}', '{"city": "Oslo", "nights": "two"}'
    (done,) = await rc.run_calls([Call(id="1", name="book", arguments=fine)], [TOOL])
    assert done.result.text == '{"nights":2}', done
    assert "pydantic" not in sys.modules
    (done,) = await rc.run_calls([Call(id="2", name="book", arguments=wrong)], [TOOL])
    assert "must be an integer" in done.result.text, done
    assert "pydantic" in sys.modules
    print([name for name in ("pydantic", "pydantic_core") if threads[name] == here])

asyncio.run(main())
"""


def said(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_pydantic_is_loaded_off_the_event_loop_by_the_first_call_that_needs_it():
    assert said(WRONG) == "[]"
