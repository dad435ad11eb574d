"""Seeded damage to files: bytes, JSON and lines of text."""

import copy
import json
import random
from typing import Any

ODD_VALUES = (
    *(None, True, False, -1, 0, 1, 2**31, 2**63, -(2**63), 10**30, 10**400),
    *(0.5, -0.0, 1e308, float("nan"), float("inf")),
    *("", "x", "../../evil", "/evil", "\0", "\ud800", "größe", "x" * 5000),
    *([], [[]], [1, 2, 3], {}, {"": None}, {"format": 1}),
)
ODD_NUMBERS = (0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63 - 1)


def damaged_bytes(chance: random.Random, content: bytes) -> bytes:
    """The content with one to four kinds of damage."""
    result = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        chance.choice(_BYTE_DAMAGE)(chance, result)
    return bytes(result)


def damaged_json(chance: random.Random, content: bytes) -> bytes:
    """JSON that is still JSON but holds something else; now and then not even that."""
    if chance.random() < 0.25:
        return damaged_bytes(chance, content)
    root = [json.loads(content)]
    for _ in range(chance.randint(1, 3)):
        _damage_value(chance, root)
    return json.dumps(root[0] if root else None).encode()


def damaged_lines(chance: random.Random, content: bytes, odd: list[bytes]) -> bytes:
    """Lines dropped, doubled, mixed up, cut, and some of `odd` among them."""
    lines = content.split(b"\n")
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(lines) + 1)
        lines[place:place] = [chance.choice(odd)]
        if chance.random() < 0.3:
            lines[place] = damaged_bytes(chance, lines[place])
        if chance.random() < 0.3:
            chance.shuffle(lines)
        if chance.random() < 0.3:
            del lines[chance.randrange(len(lines))]
    return b"\n".join(lines)


def _flip(chance: random.Random, content: bytearray) -> None:
    for _ in range(chance.randint(1, 8)):
        if content:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _slice(chance: random.Random, content: bytearray) -> slice:
    start = chance.randrange(len(content) + 1)
    return slice(start, start + chance.choice((1, 4, 16, 256, len(content))))


def _cut(chance: random.Random, content: bytearray) -> None:
    del content[chance.randrange(len(content) + 1) :]


def _delete(chance: random.Random, content: bytearray) -> None:
    del content[_slice(chance, content)]


def _insert(chance: random.Random, content: bytearray) -> None:
    place = chance.randrange(len(content) + 1)
    content[place:place] = chance.randbytes(chance.choice((1, 4, 64)))


def _repeat(chance: random.Random, content: bytearray) -> None:
    place = chance.randrange(len(content) + 1)
    content[place:place] = content[_slice(chance, content)][:4096]


def _blank(chance: random.Random, content: bytearray) -> None:
    part = _slice(chance, content)
    content[part] = chance.choice((b"\0", b"\xff", b" ")) * len(content[part])


def _number(chance: random.Random, content: bytearray) -> None:
    """A number of an extreme size over whatever was there."""
    size = chance.choice((1, 2, 4, 8))
    value = chance.choice(ODD_NUMBERS) % 2 ** (8 * size)
    place = chance.randrange(len(content) + 1)
    content[place : place + size] = value.to_bytes(
        size, chance.choice(("little", "big"))
    )


_BYTE_DAMAGE = (_flip, _flip, _cut, _delete, _insert, _repeat, _blank, _number, _number)


def _damage_value(chance: random.Random, root: list[Any]) -> None:
    """Changes one place of a tree of lists and dictionaries."""
    holder, key = _place(chance, root)
    kind = chance.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        odd_key = chance.choice(("", "x", "../../evil", "unlabeled", "\ud800"))
        holder[odd_key] = copy.deepcopy(holder[key])
    elif kind == 2:
        holder[key] = [holder[key]]
    else:
        holder[key] = copy.deepcopy(chance.choice(ODD_VALUES))


def _place(chance: random.Random, root: list[Any]) -> tuple[Any, Any]:
    holder, key = root, 0
    if not root:
        root.append(None)
    while True:
        inside = holder[key]
        if not isinstance(inside, dict | list) or not inside or chance.random() < 0.15:
            return holder, key
        keys = list(inside) if isinstance(inside, dict) else range(len(inside))
        holder, key = inside, chance.choice(keys)
