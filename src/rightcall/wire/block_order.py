"""Blocks that came in any order into the order that the vendor numbers them in."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

Block = TypeVar("Block")


def by_index(blocks: Sequence[Block], indexes: Sequence[int | None]) -> Sequence[Block]:
    """The blocks in the order of their indexes; as they came where those do not tell them apart.

    Imitators leave indexes out, or give several blocks the same.
    """
    numbers = [index for index in indexes if index is not None]
    if len(numbers) < len(blocks) or len(set(numbers)) < len(numbers):
        return blocks
    if all(before < after for before, after in pairwise(numbers)):
        return blocks
    return [block for _, block in sorted(zip(numbers, blocks, strict=True), key=lambda pair: pair[0])]
