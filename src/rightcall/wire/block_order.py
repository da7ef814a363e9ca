"""Sorts blocks that arrived in any order by the index that the vendor gave them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

Block = TypeVar("Block")


def by_index(blocks: Sequence[Block], indexes: Sequence[int | None]) -> Sequence[Block]:
    """The blocks sorted by index; in order of arrival where the indexes are missing or not unique.

    Imitators of a vendor's API leave indexes out, or give several blocks the same one.
    """
    numbers = [index for index in indexes if index is not None]
    if len(numbers) < len(blocks) or len(set(numbers)) < len(numbers):
        return blocks
    if all(before < after for before, after in pairwise(numbers)):
        return blocks
    return [block for _, block in sorted(zip(numbers, blocks, strict=True), key=lambda pair: pair[0])]
