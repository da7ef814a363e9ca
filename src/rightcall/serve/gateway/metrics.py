"""Counters of the gateway in Prometheus' text format.

Names and labels are few and bounded: models and keys are those that the operator configured.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_HELP: Mapping[str, tuple[str, str]] = {
    "rightcall_requests_total": ("counter", "Requests that were answered, by outcome."),
    "rightcall_tokens_total": ("counter", "Tokens, by direction."),
    "rightcall_dollars_total": ("counter", "US dollars, where the price is known."),
    "rightcall_upstream_failures_total": ("counter", "Attempts at an upstream that failed, by kind."),
    "rightcall_cache_hits_total": ("counter", "Requests that were answered from the response cache."),
    "rightcall_left_out_total": ("counter", "Things that a translation could not express."),
    "rightcall_under_way": ("gauge", "Exchanges that go on now."),
    "rightcall_first_byte_seconds": ("histogram", "From the request to the first byte of the answer."),
    "rightcall_exchange_seconds": ("histogram", "From the request to the end of the answer."),
}


class Metrics:
    """The counters and histograms. Adding to one is a few dictionary look-ups."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, tuple[tuple[str, str], ...]], float] = defaultdict(float)
        self._series: dict[tuple[str, str], list[float]] = {}
        self.under_way = 0

    def add(self, name: str, amount: float = 1.0, /, **labels: str) -> None:
        """Add to a counter."""
        self._values[name, tuple(labels.items())] += amount

    def took(self, name: str, model: str, seconds: float) -> None:
        """Add a duration to a histogram."""
        series = self._series.get((name, model))
        if series is None:
            series = self._series[name, model] = [0.0] * (len(_BUCKETS) + 2)
        series[-1] += seconds
        series[next((at for at, most in enumerate(_BUCKETS) if seconds <= most), len(_BUCKETS))] += 1

    def text(self) -> str:
        """All metrics, as a scraper reads them."""
        return "".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for name, (kind, words) in _HELP.items():
            yield f"# HELP {name} {words}\n# TYPE {name} {kind}\n"
            if kind == "histogram":
                yield from self._histogram(name)
            elif kind == "gauge":
                yield f"{name} {self.under_way}\n"
            else:
                for (of, labels), value in list(self._values.items()):
                    if of == name:
                        yield f"{name}{_labels(labels)} {value:.17g}\n"

    def _histogram(self, name: str) -> Iterator[str]:
        for (of, model), series in list(self._series.items()):
            if of != name:
                continue
            so_far = 0.0
            for at, most in enumerate((*_BUCKETS, "+Inf")):
                so_far += series[at]
                yield f"{name}_bucket{_labels((('model', model), ('le', str(most))))} {so_far:.17g}\n"
            label = _labels((("model", model),))
            yield f"{name}_sum{label} {series[-1]:.17g}\n{name}_count{label} {so_far:.17g}\n"


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    if not labels:
        return ""
    written = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{written}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
