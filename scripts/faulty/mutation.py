"""Bytes that are changed at random: flipped, lost, doubled, moved, or replaced by those that programs stumble over."""

from random import Random

ODD = (
    b"\0",
    b"\xff" * 4,
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"-1",
    b"1e999",
    b".nan",
    b"9" * 400,
    b"*a",
    b"&a ",
    b"<<: ",
    b"!!python/object/apply:os.system ['touch owned']",
    b"{{",
    b"[" * 60,
    b"{tile}",
    b"../",
    b"%s%n",
    b"\r",
    b"\t",
    b": ",
    b"- ",
    b"~",
    "ü\u2028".encode(),
)


def mutated(content: bytes, random: Random, most: int = 6) -> bytes:
    """Return the bytes after one to `most` changes, each at a place of its own."""
    for _ in range(random.randint(1, most)):
        place = random.randrange(len(content) + 1)
        end = min(len(content), place + random.choice((1, 1, 2, 4, 8, 40)))
        content = content[:place] + instead(content[place:end], random) + content[end:]
    return content if random.random() < 0.9 else content[: random.randrange(len(content) + 1)]


def instead(found: bytes, random: Random) -> bytes:
    """Return what stands in the place of some bytes."""
    odd = random.choice(ODD)
    flipped = bytes(byte ^ 1 << random.randrange(8) for byte in found[:1]) + found[1:]
    return random.choice((flipped, random.randbytes(len(found)), b"", found * 2, odd + found, odd[: len(found)]))
