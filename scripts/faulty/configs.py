"""Configurations as no one should write them, made at random from what is known to break programs."""

from collections.abc import Callable
from random import Random

from faulty.mutation import mutated

WHOLE = """\
version: 1
name: small
data:
  mean: "{tile}_mean.tif"
  variance: "{tile}_variance.tif"
  truth: "{tile}.tif"
variables:
  height: {band: 1, units: m, thresholds: [0.5, 1]}
tiles: [a1, a2]
regions:
  west: [a1]
  east: {of: all, without: west}
levels: [0.5, 0.9]
calibration_levels: [0.1, 0.5, 0.9]
bins: [{scheme: equal-width, count: 5}, {edges: [0, 1, 10]}]
groups: {by: [truth, variance], count: 5}
intervals: {resamples: 200, block: auto, level: 0.95, seed: 0}
variance: {negative: exclude}
cell_size: 16
output: {directory: "results/{name}", maps: [cells], figures: none}
gates: [{metric: coverage_90, variable: height, region: west, min: 0.1}]
"""
SMALLEST = "".join(WHOLE.partition("variables:")[0])
VALUES = (
    "", "~", "1", "-1", "0", "1e999", "-.inf", ".nan", "9" * 400, "0x" + "f" * 300, "1_000", "0o17", "1:30:00", "yes",
    "2026-01-01", "[]", "{}", "[[]]", "[~, ~]", "{a: {b: [1, 2]}}", "'{tile}'", "'{'", "'{0.__class__}'", "'%(x)s'",
    "../../x", "/", "'/dev/zero'", "'/dev/full'", "'/proc/self/mem'", "'nul\\0l'", '"\\0"', "'" + "a" * 5000 + "'",
    "'ü\u202e\u2028'", "'<script>'", "'=1+1'", "!!python/object/apply:os.system ['touch owned']", "!!binary aGk=",
    "!!set {a, b}", "!!float x", "&a [*a]", "*a", "<<", "? a", "|\n  text", ">-\n  text", "'1' # x", "1e-400",
    "18446744073709551616", "0.1e-17", "[0.1, 0.1]", "[a1, a1]", "'a1 '", "' '", "\u00a0", "Infinity", "http://127.0.0.1:9/x",
)  # fmt: skip


def replaced(random: Random) -> bytes:
    """Return a value of a configuration that is whole, or several, written anew."""
    lines = WHOLE.splitlines()
    for _ in range(random.randint(1, 3)):
        number = random.randrange(len(lines))
        key, colon, _ = lines[number].partition(":")
        lines[number] = f"{key}{colon} {random.choice(VALUES)}"
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def shuffled(random: Random) -> bytes:
    """Lines that are lost, doubled, moved or indented otherwise."""
    lines = WHOLE.splitlines()
    for _ in range(random.randint(1, 4)):
        line = lines.pop(random.randrange(len(lines)))
        for _ in range(random.randrange(3)):
            lines.insert(random.randrange(len(lines) + 1), " " * random.choice((0, 0, 2, 3)) + line)
    return "\n".join(lines).encode()


def bomb(random: Random) -> bytes:
    """Aliases that expand to many values, as a list or as a mapping."""
    wide, deep = random.randint(2, 12), random.randint(3, 30)
    lines = ["a0: &a0 " + random.choice(("[x, x]", "{k: v}", "x" * 1000))]
    for i in range(1, deep):
        one = f"*a{i - 1} "
        inside = f"[{', '.join([one] * wide)}]" if random.random() < 0.5 else keyed(one, wide)
        lines.append(f"a{i}: &a{i} {inside}")
    return (SMALLEST + "\n".join(lines) + f"\n{random.choice(('regions', 'levels', 'tiles'))}: *a{deep - 1}\n").encode()


def keyed(value: str, count: int) -> str:
    """Return a mapping of so many keys to one value."""
    return "{" + ", ".join(f"k{j}: {value}" for j in range(count)) + "}"


def nested(random: Random) -> bytes:
    """Brackets, braces, dashes or indents, up to a hundred thousand deep."""
    deep = random.choice((10, 49, 51, 100, 1000, 20_000, 100_000))
    kind = random.randrange(4)
    if kind == 0:
        inside = "[" * deep + "]" * random.choice((0, deep))
    elif kind == 1:
        inside = "{a: " * deep + "}" * random.choice((0, deep))
    elif kind == 2:
        inside = "\n" + "- " * deep + "x"
    else:
        inside = "\n" + "".join(" " * i + "a:\n" for i in range(1, min(deep, 1000)))
    return (SMALLEST + f"regions: {inside}\n").encode()


def encoded(random: Random) -> bytes:
    """Text in another encoding, or with a mark of one that it is not in."""
    encoding = random.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis", "utf-7", "utf-8-sig"))
    text = WHOLE.replace("small", random.choice(("groß", "small", "ümlaut")), 1)
    begin = random.choice((b"", b"", b"\xff\xfe", b"\0", b"\x1f\x8b"))
    return begin + text.encode(encoding, "replace")


def huge(random: Random) -> bytes:
    """Many entries, long lines or long numbers."""
    count = random.choice((10, 1000, 20_000))
    key = random.choice(("tiles", "levels", "regions", "bins", "calibration_levels"))
    entries = (f"{i}" if key == "tiles" else f"0.{i:06d}" for i in range(count))
    inside = keyed("[a1]", count) if key == "regions" else f"[{', '.join(entries)}]"
    return (SMALLEST + f"{key}: {inside}\n").encode()


def scrambled(random: Random) -> bytes:
    """Return a whole configuration with bytes changed."""
    return mutated(WHOLE.encode(), random)


KINDS: dict[str, Callable[[Random], bytes]] = {
    "values": replaced,
    "lines": shuffled,
    "aliases": bomb,
    "nesting": nested,
    "encodings": encoded,
    "sizes": huge,
    "bytes": scrambled,
}
