"""The dialects: requests into vendors' bytes, and vendors' bytes into events. Sans-I/O.

Each dialect is a folder with the same files, and as a module satisfies the ``Dialect`` port:

| file | turns |
|---|---|
| encode | a request into bytes (``encode``, ``encoder``), a key into headers (``authorize``) |
| messages | the transcript into the vendor's messages |
| decode | a reply's bytes into events (``Decoder``, ``decoder``) or into a Reply (``decode``) |
| reply | decoded data into events and, at the end, the Reply |
| tables | the vendor's terms into ours, as data; media; refusals into a VendorError (``error``) |
| history | a conversation in the vendor's format into a transcript (``read``), for ``wire.history`` |

Four of them also implement the vendor's side, for servers that offer models to clients:

| file | turns |
|---|---|
| client_request | a client's request into a ``ClientRequest`` (``parse_request``) |
| server | a reply into a stream (``Writer``) or a body, refusals, lists; a ``ServerDialect`` |

``dialects`` lists them. A new one is a folder, a row there, and its name here for type checkers.
``ThinkFilter`` separates what a model writes between ``<think>`` and ``</think>`` from its text.
"""

from typing import TYPE_CHECKING

from rightcall.core.lazy import lazily
from rightcall.wire.dialects import DIALECTS

if TYPE_CHECKING:
    from rightcall.core import sse as sse
    from rightcall.wire import anthropic as anthropic
    from rightcall.wire import bedrock as bedrock
    from rightcall.wire import cohere as cohere
    from rightcall.wire import gemini as gemini
    from rightcall.wire import gemini_interactions as gemini_interactions
    from rightcall.wire import ollama as ollama
    from rightcall.wire import openai_chat as openai_chat
    from rightcall.wire import openai_responses as openai_responses
    from rightcall.wire.history import from_messages as from_messages
    from rightcall.wire.history import to_messages as to_messages
    from rightcall.wire.think import ThinkFilter as ThinkFilter

_HOMES = {
    "ThinkFilter": "wire.think",
    "from_messages": "wire.history",
    "sse": "core.sse",
    "to_messages": "wire.history",
}
lazily(__name__, {**_HOMES, **{name: f"wire.{name}" for name in DIALECTS}})
