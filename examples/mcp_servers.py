"""Use the MCP servers of a file that other programs have, too: ``{"mcpServers": {...}}``.

python examples/mcp_servers.py examples/mcp.json "What does tea cost?"
"""

import asyncio
import sys

import rightcall as rc

MODEL = "anthropic:claude-opus-4-8"


async def main(config: str, question: str) -> None:
    servers = rc.mcp.load_config(config)
    # Their results are a stranger's words, and reach the model marked as such. A server that does not
    # start is left out, and says why; the others go on.
    async with rc.mcp.connect_all(servers) as group:
        print(f"tools: {', '.join(group.names())}")
        for name, problem in group.failed.items():
            print(f"{name} is not there: {problem}")
        async with rc.Agent(MODEL, [group]) as agent:
            result = await agent.run(question)
    for call in result.calls:
        print(f"{call.name} {call.arguments} -> {call.outcome}")
    print(result.text)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], " ".join(sys.argv[2:]) or "What does tea cost?"))
