"""A request into the lessons that a small model is shown first, while nothing is known of its reply."""

from rightcall.core.request import Named, Request
from rightcall.local.guided import lessons
from rightcall.local.guided.plan import Choose, Talk, Tell, next_step, spoken


def first_lessons(request: Request) -> tuple[Request, ...]:
    """One for each question that is asked at once. What follows depends on the answers."""
    match next_step(request):
        case Choose(questions):
            named = request.choice
            if isinstance(named, Named):
                (spec,) = [each for each in request.specs if each.name == named.name]
                return (lessons.filling(spec, " ".join(questions)),)
            return tuple(lessons.choosing(request.specs, question) for question in questions)
        case Tell(found):
            return tuple(
                lessons.telling(question, result.text)
                for question, result in found
                if result is not None
            )
        case Talk():
            return (Request(messages=spoken(request.messages), system=request.system),)
