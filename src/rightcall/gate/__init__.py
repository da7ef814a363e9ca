"""The gate that every call goes through: check -> decide -> run -> render."""
