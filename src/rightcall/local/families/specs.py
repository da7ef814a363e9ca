"""The tools that were offered into what reading their calls needs of them."""

from collections.abc import Iterable

from rightcall.core.tool import Spec
from rightcall.local.families.admitted import Shapes

_NOTHING = Shapes()


class Specs:
    """Names, and the types of parameters."""

    __slots__ = ("_shapes", "names")

    def __init__(self, specs: Iterable[Spec] = ()) -> None:
        self._shapes = {spec.name: Shapes(spec.parameters) for spec in specs}
        self.names = frozenset(self._shapes)

    def name(self, written: str) -> str:
        """The name that a model means. Some write it twice: ``add.add``."""
        half, dot, other = written.partition(".")
        return half if dot and half == other and written not in self.names else written

    def shapes(self, name: str) -> Shapes:
        """The schemas of a tool's parameters; of one that was not offered, nothing is known."""
        return self._shapes.get(name, _NOTHING)
