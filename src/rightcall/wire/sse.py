"""Bytes of an event stream into its events: the framing that every dialect shares.

It lives in the core, because engines that speak HTTP read the same streams.
"""

from rightcall.core.sse import MAX_EVENT_BYTES, ServerEvent, SseDecoder

__all__ = ["MAX_EVENT_BYTES", "ServerEvent", "SseDecoder"]
