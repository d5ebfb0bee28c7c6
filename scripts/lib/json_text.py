"""JSON that is short and has readable differences: an entry of a list to a line."""

import json

LONGEST = 120  # of a value that stands on one line though it is no entry of a list


def text(value, margin=""):
    """As json.dumps. A dictionary or list that is longer has a line for each member."""
    line = json.dumps(value)
    if not isinstance(value, (dict, list)) or len(margin + line) <= LONGEST:
        return line
    inner = margin + " "
    if isinstance(value, dict):
        members = [f"{json.dumps(name)}: {text(member, inner)}" for name, member in value.items()]
    else:
        members = [json.dumps(entry, separators=(",", ":")) for entry in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n" + ",\n".join(inner + member for member in members) + f"\n{margin}{last}"
