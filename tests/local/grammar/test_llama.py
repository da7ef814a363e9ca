"""llama.cpp itself, with a small real model, takes every grammar that is printed and obeys it."""

import pytest
import xllamacpp
from hypothesis import HealthCheck, Phase, given, seed, settings

from local.grammar.schemas import REAL, SCHEMAS, closed, compiled, spec
from rightcall.core.jsontext import parse
from rightcall.core.parts import Call
from rightcall.core.request import Named
from rightcall.core.schema import Schema
from rightcall.local.engine import Grammar
from rightcall.local.families.family_list import FAMILIES
from rightcall.local.families.reader import Reader
from rightcall.local.grammar.build import grammar_for, grammar_for_output
from rightcall.local.grammar.printers import print_gbnf
from wire.llama_server import model_path

WORD = 1
SPECS = tuple(spec(name, REAL[name]) for name in ("weather", "order", "no_arguments"))


@pytest.fixture(scope="module")
def model():
    params = xllamacpp.CommonParams()
    params.model.path = str(model_path())
    params.n_ctx = 512
    params.n_parallel = 1
    params.warmup = False
    # Two threads that wait for each other are slow where others want the processor.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.verbosity = 0
    server = xllamacpp.Server(params)

    def ask(grammar: Grammar, prompt: str, tokens: int, **more):
        request = {
            "prompt": prompt,
            "n_predict": tokens,
            "seed": 3,
            "grammar": grammar.text,
            "grammar_lazy": bool(grammar.triggers),
            "grammar_triggers": [{"type": WORD, "value": word} for word in grammar.triggers],
            "preserved_tokens": [*grammar.special, *grammar.triggers],
            **more,
        }
        answers = []
        server.handle_completions(request, answers.append)
        return answers[-1]

    return ask


def is_taken(model, text):
    """Whether a grammar is read without complaint. One that waits for what never comes costs no more."""
    return "error" not in model(Grammar(syntax="gbnf", text=text, triggers=("never, never",)), "a", 0)


def text_of(answer):
    (found,) = answer["choices"]
    return found["text"]


@pytest.mark.parametrize(
    "text", ['root ::= "a', "root ::= other", 'root ::= root "a" | "b"', "root ::= [a]{5000}"]
)
def test_a_broken_grammar_is_refused(model, text):
    assert not is_taken(model, text)


def test_every_familys_grammars_are_taken(model):
    refused = []
    for family in FAMILIES.values():
        tail = family.turn[0] if family.channels is not None else ""
        for choice in ("required", "auto"):
            grammar = grammar_for(SPECS, family, choice, syntax="gbnf", tail=tail)
            refused += [] if is_taken(model, grammar.text) else [(family.name, choice)]
    assert refused == []


def test_real_and_random_schemas_grammars_are_taken(model):
    schemas = [*REAL.values(), *random_schemas(40)]
    texts = [print_gbnf(book) for schema in schemas if (book := compiled(schema)[0]).rules]
    assert len(texts) > 20
    assert [text for text in texts if not is_taken(model, text)] == []


def test_a_small_model_is_held_to_an_output_however_wild_it_is(model):
    schema = {
        "type": "object",
        "properties": {
            "sky": {"enum": ["blue", "grey"]},
            "degrees": {"type": "integer", "minimum": -40, "maximum": 50},
            "tags": {
                "type": "array",
                "items": {"type": "string", "pattern": "^[a-z]{1,4}$"},
                "maxItems": 2,
            },
        },
        "required": ["sky", "degrees", "tags"],
        "additionalProperties": False,
    }
    grammar = grammar_for_output(schema, syntax="gbnf")
    answer = text_of(model(grammar, "The weather as JSON: ", 50, temperature=1.5))
    assert Schema(schema).problems(parse(answer)) == ()


@pytest.mark.parametrize("name", ["generic", "lfm2"])
def test_a_small_model_is_made_to_call_a_tool(model, name):
    family = FAMILIES[name]
    days = {"type": "integer", "minimum": 1, "maximum": 14}
    city = {"type": "string", "maxLength": 8}
    parameters = {"type": "object", "properties": {"city": city, "days": days}, "required": ["city"]}
    weather = spec("weather", closed(parameters))
    tail = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    grammar = grammar_for([weather], family, Named("weather"), syntax="gbnf", tail=tail)
    reader = Reader(family, (weather,), tail=tail)
    reader.feed(text_of(model(grammar, "Weather in Rome? A tool is called: ", 60, temperature=0.5)))
    reader.finish()
    (call,) = [part for part in reader.content if isinstance(part, Call)]
    assert call.name == "weather"
    assert Schema(weather.parameters).problems(parse(call.arguments)) == ()


def test_a_lazy_grammar_leaves_text_free_and_governs_from_its_trigger_on(model):
    held = Grammar(syntax="gbnf", text='root ::= "three, four" "<held>"', triggers=("three, four",))
    answer = text_of(
        model(held, "Count: one, two, three, four, five. Count again: one,", 24, temperature=0)
    )
    assert answer == " two, three, four<held>"


def random_schemas(count):
    """Schemas out of the strategy, the same ones every time."""
    found = []

    @seed(1)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(SCHEMAS)
    def collect(schema):
        found.append(schema)

    collect()
    return found
