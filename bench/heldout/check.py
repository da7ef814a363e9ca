"""Every expected call runs, fits the signature, and gives the stated answer."""
import importlib.util, inspect, json
from pathlib import Path

ROOT = Path(__file__).parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "toolsets" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {f.__name__: f for f in module.TOOLS}


sets = {p.stem: load(p.stem) for p in sorted((ROOT / "toolsets").glob("*.py"))}
bad, counts, seen = 0, {}, set()
for n, line in enumerate((ROOT / "questions.jsonl").read_text().splitlines(), 1):
    q = json.loads(line)
    counts[q["kind"]] = counts.get(q["kind"], 0) + 1
    assert q["question"] not in seen, q
    seen.add(q["question"])
    if q["kind"] == "none":
        assert q["tool"] is None and not q["arguments"]
        continue
    tool = sets[q["toolset"]][q["tool"]]
    signature = inspect.signature(tool)
    needed = {p.name for p in signature.parameters.values() if p.default is p.empty}
    if q["kind"] == "missing":
        signature.bind_partial(**q["arguments"])
        assert needed - set(q["arguments"]), q
        continue
    for arguments in [q["arguments"], *q["alternatives"]]:
        result = tool(**arguments)
        if str(q["answer"]) not in str(result):
            bad += 1
            print(n, q["question"], arguments, "gave", repr(result), "not", q["answer"])
    print(f"{n:3} {q['tool']:22} {str(result)[:60]:60} [{q['answer']}]")
    # a value of the call stands in the question (numbers, codes, names)
    for name, value in q["arguments"].items():
        if not isinstance(value, bool) and str(value).lower() not in q["question"].lower():
            print("    not literally in the question:", name, value)
unused = {(s, t) for s in sets for t in sets[s]} - {(json.loads(l)["toolset"], json.loads(l)["tool"]) for l in (ROOT / "questions.jsonl").read_text().splitlines()}
print(counts, "wrong:", bad, "unused tools:", unused)
