import threading
import time
from copy import deepcopy

from local.grammar.schemas import REAL, spec
from rightcall.local.families.family_list import FAMILIES
from rightcall.local.grammar.build import LruCache, digest, grammar_for, grammar_for_output

HERMES = FAMILIES["hermes"]


def described(schema, text):
    schema = deepcopy(schema)
    schema |= {"description": text, "title": text, "examples": [text]}
    for member in schema["properties"].values():
        member |= {"description": text, "title": text, "default": text, "deprecated": True}
    return schema


def test_toolboxes_that_differ_in_words_only_share_a_grammar():
    one = spec("get_weather", described(REAL["weather"], "one"), "Says this.")
    two = spec("get_weather", described(REAL["weather"], "two"), "Says that.")
    first = grammar_for([one], HERMES, "auto", syntax="gbnf")
    assert grammar_for([two], HERMES, "auto", syntax="gbnf") is first
    assert grammar_for_output(one.parameters, syntax="lark") is grammar_for_output(
        two.parameters, syntax="lark"
    )


def test_what_makes_a_difference_makes_another_grammar():
    weather = spec("get_weather", REAL["weather"])
    first = grammar_for([weather], HERMES, "auto", syntax="gbnf")
    closer = deepcopy(REAL["weather"])
    closer["properties"]["days"]["maximum"] = 7
    others = [
        grammar_for([spec("weather", REAL["weather"])], HERMES, "auto", syntax="gbnf"),
        grammar_for([spec("get_weather", closer)], HERMES, "auto", syntax="gbnf"),
        grammar_for([weather], HERMES, "auto", syntax="lark"),
        grammar_for([weather], HERMES, "required", syntax="gbnf"),
        grammar_for([weather], HERMES, "auto", syntax="gbnf", parallel=False),
        grammar_for([weather], HERMES, "auto", syntax="gbnf", decide=True),
        grammar_for([weather], FAMILIES["llama3"], "auto", syntax="gbnf"),
        grammar_for([weather], HERMES, "required", syntax="gbnf", tail="<|im_start|>assistant\n<think>"),
    ]
    assert len({first, *others}) == 9


def test_a_property_called_like_a_note_is_no_note():
    one = {"type": "object", "properties": {"title": {"type": "string"}}}
    two = {"type": "object", "properties": {"title": {"type": "integer"}}}
    assert digest(one) != digest(two)
    assert digest(one) == digest({**one, "title": "A title"})


def test_tails_that_leave_off_at_the_same_place_share_a_grammar():
    weather = spec("get_weather", REAL["weather"])
    tails = ["<|im_start|>assistant\n<think>\n", "earlier<|im_end|>\n<|im_start|>assistant\n<think>"]
    one, two = (grammar_for([weather], HERMES, "required", syntax="gbnf", tail=tail) for tail in tails)
    assert one is two


def test_what_was_not_asked_for_the_longest_is_forgotten_first():
    cache = LruCache(2)
    made = []

    def ask(key):
        return cache.get(key, lambda: made.append(key) or key)

    assert [ask("a"), ask("b"), ask("a"), ask("c"), ask("a"), ask("b")] == ["a", "b", "a", "c", "a", "b"]
    assert made == ["a", "b", "c", "b"]
    assert len(cache) == 2
    cache.clear()
    assert len(cache) == 0


def test_threads_that_ask_at_once_get_the_same():
    cache = LruCache(8)
    barrier = threading.Barrier(8)
    found = []

    def ask():
        barrier.wait()
        found.append(cache.get("key", object))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_a_schemas_identity_is_not_mistaken_for_anothers():
    digests = {digest({"type": "object", "properties": {f"p{n}": {}}}) for n in range(5000)}
    assert len(digests) == 5000


def test_asking_again_is_far_cheaper_than_making():
    specs = [spec(f"tool_{n}", deepcopy(REAL["order"])) for n in range(30)]

    def cost():
        began = time.perf_counter()
        grammar_for(specs, HERMES, "auto", syntax="gbnf")
        return time.perf_counter() - began

    first = cost()
    assert min(cost() for _ in range(20)) < first / 20
