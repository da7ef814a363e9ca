"""The figures of one feature, as whoever runs its file by hand sees them."""

import platform
from collections.abc import Mapping


def show(figures: Mapping[str, float], unit: str, *, factor: float = 1.0) -> None:
    """Print figures by name, each in this unit."""
    print(f"Python {platform.python_version()}, {platform.machine()}")
    for name, figure in figures.items():
        print(f"{name:<26}{figure * factor:10.3f} {unit}")
