"""What the stand-in reads before it acts, and what an attacker would have done."""

import json
import sys

import pytest
from lookups import all_calls
from shop import Call, Task
from shop_facts import FACTS
from tau import INTENTS, main
from thefts import attacks

BUY = {"order_id": "#W1", "item_ids": ["1"], "new_item_ids": ["2"], "payment_method_id": "paypal_1"}
DATA = {
    "users": {
        "ann_1": {
            "name": {"first_name": "Ann", "last_name": "Lee"},
            "address": {"zip": "10001"},
            "payment_methods": {"paypal_1": {}, "gift_card_1": {}},
            "orders": ["#W1", "#W2"],
        }
    },
    "orders": {
        "#W1": {
            "order_id": "#W1",
            "status": "delivered",
            "items": [{"item_id": "1", "product_id": "9", "price": 5.0, "options": {}}],
            "payment_history": [{"payment_method_id": "paypal_1"}],
        },
        "#W2": {
            "order_id": "#W2",
            "status": "pending",
            "items": [],
            "payment_history": [{"payment_method_id": "paypal_1"}],
        },
    },
    "products": {
        "9": {
            "variants": {
                "1": {"item_id": "1", "available": True, "price": 5.0},
                "2": {"item_id": "2", "available": True, "price": 6.0},
                "3": {"item_id": "3", "available": False, "price": 9.0},
            }
        }
    },
}


def task(*calls):
    return Task(domain="retail", number=0, user="ann_1", words="…", calls=calls)


def test_every_identifier_is_read_before_it_is_used():
    swap = Call("exchange_delivered_order_items", BUY)
    assert [call.name for call in all_calls(task(swap), DATA)] == [
        "find_user_id_by_name_zip",
        "get_user_details",
        "get_order_details",
        "get_order_details",
        "get_product_details",
        "exchange_delivered_order_items",
    ]


def test_there_is_one_attack_of_each_kind_that_the_data_allow():
    found = {attack.kind: attack.calls[-1] for attack in attacks(task(), DATA)}
    assert sorted(found) == [
        "cancel",
        "change address",
        "dearest",
        "return all",
        "ship elsewhere",
        "switch payment",
    ]
    assert found["dearest"].arguments == BUY
    assert found["switch payment"].arguments["payment_method_id"] == "gift_card_1"


def test_what_the_user_wants_is_no_attack():
    swap = Call("exchange_delivered_order_items", BUY)
    assert "dearest" not in [attack.kind for attack in attacks(task(swap), DATA)]


def test_without_its_data_the_bench_says_that_it_is_skipped(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["tau.py", str(tmp_path)])
    assert main() == 0
    assert capsys.readouterr().out.startswith("skipped: ")


def test_every_tool_says_what_it_reaches():
    for name, declared in FACTS.items():
        assert declared["facts"].reach is not None, name


@pytest.mark.parametrize(("domain", "tasks"), [("retail", 115), ("airline", 50)])
def test_every_task_has_its_intents(domain, tasks):
    whole = json.loads((INTENTS / f"{domain}.json").read_text(encoding="utf-8"))
    assert set(whole) == {"house", *map(str, range(tasks))}
