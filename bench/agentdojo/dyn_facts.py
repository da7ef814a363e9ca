"""What the author of AgentDyn's tools would declare of them, written from their names and docs alone.

AgentDyn is a fork of AgentDojo with three suites of open-ended tasks: a shop, repositories, and daily
life. Tools that both have keep their facts.
"""

from typing import Any, TypeAlias

import rightcall as rc

Declared: TypeAlias = dict[str, Any]

_MAIL: Declared = {"untrusted": ("subject", "body", "attachments"), "private": True}
_PAGE: Declared = {"untrusted": True, "private": False, "reach": "outside"}
_FILES = {"untrusted": True, "private": True}


def _reads(*targets: str, **facts: Any) -> Declared:
    stated: dict[str, Any] = {
        "reach": "user",
        "targets": targets,
        "untrusted": False,
        "private": True,
    } | facts
    return {"effect": "read", "facts": rc.Facts(**stated)}


def _writes(*targets: str, **facts: Any) -> Declared:
    stated: dict[str, Any] = {
        "reach": "outside",
        "targets": targets,
        "untrusted": False,
        "private": False,
    } | facts
    return {"effect": "write", "facts": rc.Facts(**stated)}


_ENTERS = {"dangers": ("credentials",)}
_LOCAL: Declared = {
    "list_directory": _reads("path", **_FILES),
    "read_file": _reads("path", **_FILES),
    "create_file": _writes("path", reach="user"),
    "create_dir": _writes("path", reach="user"),
    "delete_node": _writes("path", reach="user", dangers=("deletes",)),
    "copy_node": _writes("source_path", "destination_path", reach="user"),
    "move_node": _writes("source_path", "destination_path", reach="user", dangers=("deletes",)),
    "download_file_through_url": _writes("url", "save_dir", **_PAGE),
    "download_file_through_id": _writes("file_id", "save_dir", reach="user"),
    "browse_webpage": {
        "effect": "read",
        "facts": rc.Facts(**_PAGE, targets=("url",)),
    },
    "input_to_webpage": _writes("url", **_PAGE),
}
_SHOP: Declared = {
    "login_shopping_account": _writes("username", "password", **_ENTERS),
    "verify_shopping_account": _writes("otp", **_ENTERS),
    "update_shopping_account_password": _writes("password", reach="user", **_ENTERS),
    "update_shopping_account_user_info": _writes(
        "email", "address", "bank_account_number", reach="user"
    ),
    "get_shopping_account_user_information": _reads(),
    "get_shopping_linked_unread_emails": _reads(**_MAIL),
    "get_shopping_linked_received_emails": _reads(**_MAIL),
    "search_product": _reads(untrusted=True, private=False),
    "view_order_history": _reads(untrusted=("product_name", "name")),
    "get_invoice": _reads(untrusted=True),
    "view_cart": _reads(untrusted=("product_name", "name")),
    "cart_total": _reads(),
    "view_available_discounts": _reads(),
    "cart_add_product": _writes("product_id", reach="user"),
    "cart_remove_product": _writes("product_id", reach="user"),
    "clear_cart": _writes(reach="user"),
    "checkout_selected_cart": _writes("product_ids", "discount_code", dangers=("money",)),
    "refund_order": _writes("order_id", dangers=("money",)),
}
_CODE: Declared = {
    "git_create_repo": _writes("repo_name"),
    "git_delete_repo": _writes("repo_name", dangers=("deletes",)),
    "git_transfer_repo_ownership": _writes("repo_name", "new_owner_username", "new_owner_email"),
    "git_clone": _writes("repo_name", "local_dir_path", reach="user", untrusted=True),
    "git_invite_collaborators": _writes("repo_name", "collaborator_email"),
    "git_push": _writes("local_path"),
    "git_pull": _writes("local_path", "repo_name", reach="user", untrusted=True),
    "git_issue": _writes("repo_name"),
    "git_star": _writes("repo_name"),
    "git_unstar": _writes("repo_name"),
    "git_get_linked_ssh_keys": _reads(),
    "git_add_ssh_key": _writes("ssh_key", **_ENTERS),
    "git_delete_ssh_key": _writes("ssh_key", **_ENTERS),
    "get_github_linked_unread_emails": _reads(**_MAIL),
    "get_logged_in_github_user_information": _reads(),
    "get_github_account_user_information": _reads(),
    "get_github_repository_information": _reads(untrusted=True),
    "login_github_account": _writes("username", "password", **_ENTERS),
    "update_github_account_password": _writes("password", reach="user", **_ENTERS),
    "verify_github_account": _writes("otp", **_ENTERS),
}
_LIFE: Declared = {"verify_transaction": _writes("otp", dangers=("money",))}

DYN_FACTS: dict[str, Declared] = {**_LOCAL, **_SHOP, **_CODE, **_LIFE}
