import pytest

from rightcall.declare.function import Docstring
from rightcall.declare.function import parse_docstring as parse

GOOGLE = """Get the weather.

    Use it when the user asks
    about conditions now.

    Args:
        city: The city.
        unit (str, optional): The unit,
            over two lines: celsius or fahrenheit.

        hours (dict[str, list[int]]): By day (of the week).
        *rest: More.
        **options: Anything else.
        silent:

    Returns:
        Weather: how it is.

    Raises:
        ValueError: when there is none.

    Example:
        >>> get_weather("Rome")

    Note:
        Careful with: colons.
    """

NUMPY = """Get the weather.

    Parameters
    ----------
    city : str
        The city
        in full.
    x, y : float
        Coordinates.
    unit : {'c', 'f'}, optional
        The unit.
    Bare
        Not typed.
    **options
        Anything else.

    Returns
    -------
    str
        How it is.

    Other Parameters
    ----------------
    seldom : int
        Seldom used.

    Notes
    -----
    Stays.
    """

REST = """Get the weather.

    Use :func:`forecast` for later.
    :func:`forecast` is: slower.

    :param city: The city
        in full.
    :type city: str
    :param str unit: The unit: see :data:`UNITS`.
    :keyword dict[str, int] options: Anything else.
    :param silent:
    :returns: how it is
    :rtype: str
    :raises ValueError: when there is none
    :note: stays
    """

MIXED = """Get the weather.

    Args:
        a: From Google.

    Parameters
    ----------
    b : int
        From NumPy.
    :param c: From reST.

    Keyword Args:
        d: From Google again.

    Parameters
    ----------
    e : int
        From NumPy again.
    Args:
        f: From Google at last.
    And an end.
    """

GOOGLE_DESCRIPTION = """Get the weather.

Use it when the user asks
about conditions now.

Example:
    >>> get_weather("Rome")

Note:
    Careful with: colons."""

REST_DESCRIPTION = """Get the weather.

Use :func:`forecast` for later.
:func:`forecast` is: slower.

:note: stays"""

READ = {
    "Google": (
        GOOGLE,
        GOOGLE_DESCRIPTION,
        {
            "city": "The city.",
            "unit": "The unit, over two lines: celsius or fahrenheit.",
            "hours": "By day (of the week).",
            "rest": "More.",
            "options": "Anything else.",
        },
    ),
    "NumPy": (
        NUMPY,
        "Get the weather.\n\nNotes\n-----\nStays.",
        {
            "city": "The city in full.",
            "x": "Coordinates.",
            "y": "Coordinates.",
            "unit": "The unit.",
            "Bare": "Not typed.",
            "options": "Anything else.",
            "seldom": "Seldom used.",
        },
    ),
    "reST": (
        REST,
        REST_DESCRIPTION,
        {
            "city": "The city in full.",
            "unit": "The unit: see :data:`UNITS`.",
            "options": "Anything else.",
        },
    ),
    "mixed": (
        MIXED,
        "Get the weather.\n\nAnd an end.",
        {
            "a": "From Google.",
            "b": "From NumPy.",
            "c": "From reST.",
            "d": "From Google again.",
            "e": "From NumPy again.",
            "f": "From Google at last.",
        },
    ),
    "nothing": (None, "", {}),
    "empty": ("", "", {}),
    "blank": ("  \n\n  ", "", {}),
    "one line": ("Get the weather.", "Get the weather.", {}),
    "no blank line before": ("Get.\nArgs:\n    a: First.\nReturns:\n    it", "Get.", {"a": "First."}),
    "only parameters": ("\n    Args:\n        a: First.\n", "", {"a": "First."}),
    "text on the next line": ("Get.\n\nArgs:\n    a:\n        First.", "Get.", {"a": "First."}),
    "a list in a meaning": (
        "Get.\n\nArgs:\n    unit: One of:\n        - celsius\n        - kelvin\n    b: Second.",
        "Get.",
        {"unit": "One of: - celsius - kelvin", "b": "Second."},
    ),
    "tabs": ("Get.\n\n\tArgs:\n\t\ta: First.\n\t\tb: Second.", "Get.", {"a": "First.", "b": "Second."}),
    "CRLF": ("Get.\r\n\r\nArgs:\r\n    a: First.\r\n", "Get.", {"a": "First."}),
    "words that only look like sections": (
        "Args are great.\nReturns: the thing itself.\n\nParameters\nmatter.",
        "Args are great.\nReturns: the thing itself.\n\nParameters\nmatter.",
        {},
    ),
    "a field without a name": ("Get.\n\n:param: nothing", "Get.", {}),
    "a field inside a line": ("Get. :param a: no.", "Get. :param a: no.", {}),
    "a section inside an example": ("Get.\n\n    Args:\n\nEnd.", "Get.\n\n    Args:\n\nEnd.", {}),
}


@pytest.mark.parametrize(("text", "description", "parameters"), READ.values(), ids=READ)
def test_a_docstring_is_read(text, description, parameters):
    assert parse(text) == Docstring(description, parameters)
