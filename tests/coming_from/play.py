"""Runs the blocks of a page in a peer's environment, in one namespace; standard library only.

Reads ``{"page": …, "blocks": [[line, code], …]}`` and prints what each block printed, as a JSON list.
"""

import ast
import contextlib
import io
import json
import sys
import types


def main() -> None:
    asked = json.load(sys.stdin)
    module = types.ModuleType("page")
    sys.modules["page"] = module
    printed = []
    for line, code in asked["blocks"]:
        tree = ast.parse(code, asked["page"])
        ast.increment_lineno(tree, line)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(tree, asked["page"], "exec"), module.__dict__)
        printed.append(said.getvalue())
    sys.stdout.write(json.dumps(printed))


if __name__ == "__main__":
    main()
