"""Notes and todos."""
from typing import Literal, Optional

_NOTES = {"wifi": "WiFi: network Heron, password tulip-42", "paint": "Paint: hallway is Farrow 229", "gift": "Gift ideas: puzzle for Noor, scarf for Dad", "car": "Car: inspection due in October"}


def _id(text):
    return sum(map(ord, text.lower().strip().rstrip("."))) % 500 + 1


def save_note(text: str, tag: Optional[str] = None) -> str:
    """Save a note.

    Args:
        text: the text of the note
        tag: a tag to file it under
    """
    return f"note {_id(text)} saved" + (f" under {tag}" if tag else "")


def search_notes(query: str) -> str:
    """Search in all saved notes."""
    query = query.lower()
    for key, text in _NOTES.items():
        if key in query or key.replace("wifi", "wi-fi") in query or query in text.lower():
            return text
    return "nothing found"


def add_todo(task: str, priority: Literal["low", "normal", "high"] = "normal") -> dict:
    """Add a task to the todo list.

    Args:
        task: What has to be done.
        priority: How urgent it is.
    """
    return {"position": {"low": 12, "normal": 6, "high": 1}[priority], "priority": priority}


def complete_todo(number: int) -> str:
    """Tick off a todo by its number."""
    return f"todo {number} done, {max(0, 23 - number)} left"


def count_todos(status: Literal["open", "done"]) -> int:
    """Count the todos with a status."""
    return {"open": 17, "done": 64}[status]


TOOLS = [save_note, search_notes, add_todo, complete_todo, count_todos]
