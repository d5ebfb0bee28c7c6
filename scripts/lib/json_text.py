"""Compact JSON with readable diffs: one line for each entry of a list."""

import json

LONGEST = 120  # of a value on one line that is no entry of a list


def text(value, margin=""):
    """As json.dumps, but a longer dictionary or list has one line for each member."""
    line = json.dumps(value)
    if not isinstance(value, (dict, list)) or len(margin + line) <= LONGEST:
        return line
    inner = margin + " "
    if isinstance(value, dict):
        members = [f"{json.dumps(str(name))}: {text(member, inner)}" for name, member in value.items()]
    else:
        members = [json.dumps(entry, separators=(",", ":")) for entry in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n" + ",\n".join(inner + member for member in members) + f"\n{margin}{last}"
