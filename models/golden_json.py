"""How the golden files of the shipped models are written."""

import json


def to_json(value):
    """Indented, but with each list of numbers on one line."""
    lists = {}

    def mark(node):
        if isinstance(node, list) and node and all(isinstance(item, (int, float)) for item in node):
            key = f"@{len(lists)}@"
            lists[key] = json.dumps(node)
            return key
        if isinstance(node, list):
            return [mark(item) for item in node]
        if isinstance(node, dict):
            return {name: mark(item) for name, item in node.items()}
        return node

    text = json.dumps(mark(value), indent=1, ensure_ascii=True)
    for key, line in lists.items():
        text = text.replace(f'"{key}"', line)
    return text + "\n"
