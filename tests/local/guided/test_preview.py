from local.guided.test_guided_model import after, asking, result
from rightcall.core.request import Named
from rightcall.core.tool import Spec
from rightcall.local.guided.lessons import first_lessons

TEXTS = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}


def asked(request) -> list[str]:
    return [lesson.messages[-1].text for lesson in first_lessons(request)]


def test_what_words_leave_open_is_a_lesson_in_choosing():
    assert asked(asking("What is 1 + 1? What time is it?")) == ["What is 1 + 1?"]


def test_what_was_said_is_copied_without_a_lesson():
    assert asked(asking("Add 1 and 1", choice=Named("add"))) == []


def test_what_a_tool_writes_is_a_lesson_in_filling():
    spelt = Spec(
        name="spell",
        description="Spell.",
        parameters=TEXTS,
        examples=({"a": "one", "b": "two"},),
        questions=("1 2",),
    )
    (lesson,) = first_lessons(asking("Spell 5 and 6", specs=(spelt,), choice=Named("spell")))
    assert "arguments of spell" in lesson.system


def test_about_results_nothing_is_asked():
    assert asked(after("What is 2 + 3?", ("What is 2 + 3?", result("5")))) == []


def test_without_tools_it_talks():
    (lesson,) = first_lessons(asking("Hi", specs=(), system="Be kind."))
    assert (lesson.system, lesson.messages[-1].text) == ("Be kind.", "Hi")
