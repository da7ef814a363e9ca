from local.guided.test_guided_model import ADD, after, asking, result
from rightcall.core.request import Named
from rightcall.local.guided.lessons import first_lessons


def asked(request) -> list[str]:
    return [lesson.messages[-1].text for lesson in first_lessons(request)]


def test_every_question_is_a_lesson_in_choosing():
    assert asked(asking("What is 1 + 1? What time is it?")) == ["What is 1 + 1?", "What time is it?"]


def test_a_named_tool_is_filled_in_at_once():
    (lesson,) = first_lessons(asking("Add 1 and 1", choice=Named("add")))
    assert f"arguments of {ADD.name}" in lesson.system


def test_about_results_nothing_is_asked():
    assert asked(after("What is 2 + 3?", ("What is 2 + 3?", result("5")))) == []


def test_without_tools_it_talks():
    (lesson,) = first_lessons(asking("Hi", specs=(), system="Be kind."))
    assert (lesson.system, lesson.messages[-1].text) == ("Be kind.", "Hi")
