"""Run every expected call and alternative and look for the stated answer in the result.

Of the questions here, or of those in the folder that is given.
"""
import collections, hashlib, importlib.util, inspect, json, pathlib, re, sys, typing

here = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
sets = {}
for p in sorted((here / "toolsets").glob("*.py")):
    spec = importlib.util.spec_from_file_location(p.stem, p)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    sets[p.stem] = {f.__name__: f for f in m.TOOLS}
    assert 4 <= len(m.TOOLS) <= 8
    for f in m.TOOLS:
        assert f.__doc__ and set(typing.get_type_hints(f)) == set(inspect.signature(f).parameters) | {"return"}, f


def found(answer, result):
    text = json.dumps(result, ensure_ascii=False)
    if isinstance(answer, (int, float)):
        return any(abs(float(n) - answer) < 1e-9 for n in re.findall(r"-?\d+(?:\.\d+)?", text))
    return answer.lower() in text.lower()


raw = (here / "questions.jsonl").read_bytes()
rows = [json.loads(x) for x in raw.decode().splitlines()]
bad, count, used, seen = 0, collections.Counter(), set(), set()
for r in rows:
    assert set(r) == {"toolset", "question", "kind", "tool", "arguments", "alternatives", "answer"}
    assert r["question"] not in seen
    seen.add(r["question"])
    count[r["toolset"], r["kind"]] += 1
    if r["kind"] == "none":
        assert r["tool"] is None and r["answer"] is None
        continue
    f = sets[r["toolset"]][r["tool"]]
    sig = inspect.signature(f)
    required = {n for n, p in sig.parameters.items() if p.default is p.empty}
    if r["kind"] == "missing":
        assert required - set(r["arguments"]) and set(r["arguments"]) <= set(sig.parameters) and r["answer"] is None
        continue
    used.add((r["toolset"], r["tool"]))
    for a in [r["arguments"]] + r["alternatives"]:
        hints = typing.get_type_hints(f)
        for k, v in a.items():
            h = hints[k]
            opts = [h] + list(typing.get_args(h))
            for o in opts:
                if typing.get_origin(o) is typing.Literal:
                    assert v in typing.get_args(o), (r["question"], k, v)
        res = f(**a)
        if not found(r["answer"], res):
            bad += 1
            print("BAD", r["question"], a, res, r["answer"])
        # the answer should not already stand in the question
    if found(r["answer"], r["question"]):
        print("answer in question:", r["question"], r["answer"])
    for v in r["arguments"].values():
        for x in v if isinstance(v, list) else [v]:
            if not isinstance(x, bool) and str(x).lower() not in r["question"].lower().replace(",", ""):
                print("not literal:", r["question"], x)
for s in sets:
    print("|", s, "|", len(sets[s]), "|", " | ".join(str(count[s, k]) for k in ("tool", "missing", "none")), "|")
print("| all |", sum(map(len, sets.values())), "|", " | ".join(str(sum(v for (_, k2), v in count.items() if k2 == k)) for k in ("tool", "missing", "none")), "|")
print("unused tools:", [(s, t) for s in sets for t in sets[s] if (s, t) not in used])
print("bad:", bad, "sha256:", hashlib.sha256(raw).hexdigest())
