"""A task into what an agent reads before it acts: nobody knows an identifier that they have not read."""

from collections.abc import Iterable, Iterator

from shop import RECORDS, Call, Data, Task

_LOOKS_UP = {"retail": "get_order_details", "airline": "get_reservation_details"}


def all_calls(task: Task, data: Data) -> list[Call]:
    """The task's own calls, with the reads that they rest on before them."""
    before: list[Call] = []
    for read in _reads(task, data):
        if read not in before:
            before.append(read)
    rest = [call for call in task.calls if call not in before]
    return [*before, *rest]


def _reads(task: Task, data: Data) -> Iterator[Call]:
    if task.domain == "retail":
        yield _identified(task, data)
    else:
        # Customers speak of cities, and reservations of airports.
        yield Call("list_all_airports", {})
    yield Call("get_user_details", {"user_id": task.user})
    records = data[RECORDS[task.domain]]
    key = "order_id" if task.domain == "retail" else "reservation_id"
    # Few customers say the number: whoever is to find the right one looks at all of them.
    named = [call.arguments.get(key) for call in task.calls]
    for number in (*data["users"][task.user][RECORDS[task.domain]], *named):
        if number in records:
            yield Call(_LOOKS_UP[task.domain], {key: number})
    for call in task.calls:
        number = call.arguments.get(key)
        held = records[number].get("items", ()) if number in records else ()
        of = {item["item_id"]: item["product_id"] for item in held}
        if "new_item_ids" in call.arguments:
            yield from _products(of[item] for item in call.arguments["item_ids"])
        if call.name in ("cancel_pending_order", "return_delivered_order_items"):
            # Many undo only if something else is not to be had, which nobody knows without a look.
            yield from _products(of.values())
        for leg in call.arguments.get("flights", ()):
            flight = data["flights"][leg["flight_number"]]
            places = {"origin": flight["origin"], "destination": flight["destination"]}
            yield Call("search_direct_flight", {**places, "date": leg["date"]})


def _products(numbers: Iterable[str]) -> Iterator[Call]:
    return (Call("get_product_details", {"product_id": each}) for each in numbers)


def _identified(task: Task, data: Data) -> Call:
    """How the task has the customer identified; by name and postcode where it does not say."""
    for call in task.calls:
        if call.name.startswith("find_user_id"):
            return call
    user = data["users"][task.user]
    return Call("find_user_id_by_name_zip", {**user["name"], "zip": user["address"]["zip"]})
