"""A server with as many tools as its first argument says, in pages of ten; without any library."""

import json
import sys

COUNT = int(sys.argv[1])
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


def result_of(method: str, params: dict) -> dict:
    if method == "initialize":
        info = {"name": "many", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        start = int(params.get("cursor", 0))
        page = range(start, min(start + 10, COUNT))
        tools = [{"name": f"tool_{n}", "description": f"Tool {n}.", "inputSchema": SCHEMA} for n in page]
        return {"tools": tools} | ({"nextCursor": str(page.stop)} if page.stop < COUNT else {})
    return {"content": [{"type": "text", "text": f"{params['name']} {params['arguments']['number']}"}]}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] in {"initialize", "tools/list", "tools/call"}:
        answer["result"] = result_of(request["method"], request.get("params", {}))
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
