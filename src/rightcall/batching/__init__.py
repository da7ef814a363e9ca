"""Vendors' batch APIs: many prompts of one agent, submitted together and answered later."""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily

if TYPE_CHECKING:
    from rightcall.batching.batches import batch as batch

lazily(__name__, {"batch": "batching.batches"})
