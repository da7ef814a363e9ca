"""An MCP server that misbehaves as its argument says: when it is greeted, asked what it has, or called.

Written without any library, so that it can do what none would. The faults whose words matter are in
tests/mcp/client/rogue.py; here only that they are survived.
"""

import json
import os
import sys
import time
from collections.abc import Callable

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = [{"name": name, "description": "Does.", "inputSchema": SCHEMA} for name in ("act", "ping")]
Request = dict
Behaviour = Callable[[Request], None]


def put(line: bytes) -> None:
    os.write(1, line + b"\n")


def say(message: object) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


def answer(request: Request, result: object, **more: object) -> None:
    say({"jsonrpc": "2.0", "id": request["id"], "result": result} | more)


def text(words: str) -> dict:
    return {"content": [{"type": "text", "text": words}]}


def greeting(request: Request, **more: object) -> dict:
    info = {"name": "hostile", "version": "1"}
    version = request["params"]["protocolVersion"]
    capabilities = {"tools": {"listChanged": True}, "logging": {}}
    return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info} | more


def flood(request: Request, *messages: dict, times: int = 300) -> None:
    for number in range(times):
        for message in messages:
            say({"jsonrpc": "2.0", **message, **({"id": number} if "id" in message else {})})
    answer(request, text("done"))


def asks(method: str, **params: object) -> dict:
    return {"id": 0, "method": method, "params": params}


def notes(method: str, **params: object) -> dict:
    return {"method": f"notifications/{method}", "params": params}


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def before(lines: bytes, then: Behaviour) -> Behaviour:
    def do(request: Request) -> None:
        put(lines)
        then(request)

    return do


def greet(request: Request) -> None:
    answer(request, greeting(request))


def slowly(request: Request) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": text("slow")}).encode()
    for start in range(0, len(line), 8):
        os.write(1, line[start : start + 8])
        time.sleep(0.001)
    os.write(1, b"\r\n")


def page(request: Request, cursor: str) -> None:
    answer(request, {"tools": TOOLS, "nextCursor": cursor})


def complain(_: Request) -> None:
    for _ in range(200):
        os.write(2, b"x" * 65536 + b"\n")
    os._exit(1)


ELICIT = asks("elicitation/create", message="Your password?", requestedSchema=SCHEMA)
SAMPLE = asks("sampling/createMessage", messages=[], maxTokens=10**9)
FRAME = {"jsonrpc": "2.0"}

GREETINGS: dict[str, Behaviour] = {
    "garbage before it greets": before(b"Welcome!\n{{{\n\x00\xff\n[]\nnull", greet),
    "a version that nobody knows": lambda r: answer(r, greeting(r, protocolVersion="1999-01-01")),
    "a version that is no text": lambda r: answer(r, greeting(r, protocolVersion=7)),
    "greets with nothing": lambda r: answer(r, None),
    "greets with an error": lambda r: say(
        {**FRAME, "id": r["id"], "error": {"code": 1, "message": "no"}}
    ),
    "greets twice": lambda r: (greet(r), greet(r))[0],
    "greets at length": lambda r: answer(r, greeting(r, instructions="x" * 3_000_000)),
    "greets and dies": lambda r: (greet(r), os._exit(0))[0],
    "dies when it is greeted": lambda _: os._exit(7),
    "dies with many words": complain,
    "can do things that nobody knows": lambda r: answer(
        r, greeting(r, capabilities={"x": [1], "tools": {}})
    ),
}
LISTS: dict[str, Behaviour] = {
    "pages without end": lambda r: page(r, f"page {time.monotonic_ns()}"),
    "the same page for ever": lambda r: page(r, "again"),
    "tools that are null": lambda r: answer(r, {"tools": None}),
    "tools that are text": lambda r: answer(r, {"tools": "act"}),
    "tools of everything but tools": lambda r: answer(r, {"tools": [*TOOLS, None, 7, "x", [], {}]}),
    "a bottomless list": lambda r: put(b'{"jsonrpc": "2.0", "id": 1, "result": ' + deep(50_000) + b"}"),
    "dies when it is asked for its tools": lambda _: os._exit(3),
    "refuses to list": lambda r: say({**FRAME, "id": r["id"], "error": {"code": -1, "message": "no"}}),
}
CALLS: dict[str, Behaviour] = {
    "asks for passwords again and again": lambda r: flood(r, ELICIT),
    "asks for a model again and again": lambda r: flood(r, SAMPLE),
    "asks for roots and pings again and again": lambda r: flood(r, asks("roots/list"), asks("ping")),
    "asks for what nobody knows": lambda r: flood(r, asks("rm/rf", path="/"), times=100),
    "says again and again that its tools changed": lambda r: flood(r, notes("tools/list_changed")),
    "notes that nobody knows": lambda r: flood(
        r, notes("x"), notes("progress", progressToken=[]), times=20
    ),
    "cancels what it was asked": lambda r: flood(r, notes("cancelled", requestId=r["id"]), times=1),
    "answers in a batch": lambda r: say([{**FRAME, "id": r["id"], "result": text("batch")}]),
    "answers with its id as text": lambda r: say({**FRAME, "id": str(r["id"]), "result": text("x")}),
    "answers nobody": lambda r: (say({**FRAME, "id": None, "result": {}}), answer(r, text("ok")))[0],
    "answers nothing": lambda r: answer(r, None),
    "answers with text": lambda r: answer(r, "done"),
    "content that is null": lambda r: answer(r, {"content": None}),
    "content that nobody knows": lambda r: answer(r, {"content": [{"type": "smell", "data": "?"}]}),
    "a picture that is none": lambda r: answer(
        r, {"content": [{"type": "image", "data": "###", "mimeType": "image/png"}]}
    ),
    "an error that is text": lambda r: say({**FRAME, "id": r["id"], "error": "no"}),
    "an error at length": lambda r: say(
        {**FRAME, "id": r["id"], "error": {"code": 10**20, "message": "x" * 500_000}}
    ),
    "a result and an error": lambda r: answer(r, text("x"), error={"code": 1, "message": "no"}),
    "half a surrogate pair": lambda r: put(
        b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "\\ud83d"}]}}'
        % r["id"]
    ),
    "a bottomless result": lambda r: put(
        b'{"jsonrpc": "2.0", "id": %d, "result": {"content": %s}}' % (r["id"], deep(50_000))
    ),
    "a line that is too long": lambda r: answer(r, text("x" * 2_000_000)),
    "a little at a time": slowly,
    "no json and then an answer": before(b"\x00\xff\xfe\nnull\n7\n" + deep(5000), greet),
}


def find(table: dict[str, Behaviour]) -> Behaviour | None:
    return table.get(sys.argv[1])


def handle(request: Request) -> None:
    match request.get("method"):
        case "initialize":
            (find(GREETINGS) or greet)(request)
        case "tools/list":
            (find(LISTS) or (lambda r: answer(r, {"tools": TOOLS})))(request)
        case "tools/call" if request["params"]["name"] == "act" and (act := find(CALLS)):
            act(request)
        case "tools/call":
            answer(request, text("pong"))
        case str() if "id" in request:
            say({**FRAME, "id": request["id"], "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    for line in sys.stdin:
        handle(json.loads(line))
