"""A local file server that waits before each answer, counts requests, and uses little processor time."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from urllib.parse import unquote
from urllib.request import urlopen

LATENCY = 0.04  # seconds before each answer
ANY = "any"  # tile whose files stand for those of all tiles t0, t1, ...
NUMBERED = re.compile(r"t\d+_")
COUNTS = "/counts"
RANGE = re.compile(rb"\r\nrange: *bytes=(\d+)-(\d*)", re.IGNORECASE)
SIDECARS = (".msk", ".aux.xml")
TYPES = {200: "OK", 206: "Partial Content", 404: "Not Found"}


class Connection(asyncio.Protocol):
    """Answers one request after another.

    counts : requests by kind; `most` is the largest number of simultaneous requests. listed : number of tiles on the
    page of the folder; 0 for no page.
    """

    def __init__(self, folder: Path, listed: int, counts: Counter[str]) -> None:
        self.folder, self.listed, self.counts, self.waiting = folder, listed, counts, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for answers."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Read a request, and answer it later."""
        self.waiting += data
        while b"\r\n\r\n" in self.waiting:
            request, _, self.waiting = self.waiting.partition(b"\r\n\r\n")
            method, path = request.split(b" ", 2)[:2]
            if path.decode() == COUNTS:
                self._send(200, json.dumps(self.counts).encode())
                self.counts.clear()
                continue
            self.counts["now"] += 1
            self.counts["most"] = max(self.counts["most"], self.counts["now"])
            self.counts[_kind(method.decode(), path.decode())] += 1
            asyncio.get_running_loop().call_later(LATENCY, self._answer, method.decode(), path.decode(), request)

    def _answer(self, method: str, path: str, request: bytes) -> None:
        self.counts["now"] -= 1
        name = unquote(path.partition("?")[0].strip("/"))
        if not name and self.listed:
            self._send(200, _page(self.folder, self.listed))
            return
        file = self.folder / name
        if not file.is_file():
            file = self.folder / NUMBERED.sub(f"{ANY}_", file.name)
        if not file.is_file():
            self._send(404, b"")
            return
        self._send_file(method, file, RANGE.search(request))

    def _send_file(self, method: str, file: Path, asked: re.Match[bytes] | None) -> None:
        status = file.stat()
        first = int(asked[1]) if asked else 0
        end = min(int(asked[2]) + 1 if asked and asked[2] else status.st_size, status.st_size)
        content = b""
        if method == "GET":
            with file.open("rb") as opened:
                content = os.pread(opened.fileno(), end - first, first)
        headers = {
            "Content-Length": str(end - first),
            "Last-Modified": formatdate(status.st_mtime, usegmt=True),
            **({"Content-Range": f"bytes {first}-{end - 1}/{status.st_size}"} if asked else {}),
        }
        self._send(206 if asked else 200, content, headers)

    def _send(self, code: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        own = {"Date": formatdate(usegmt=True), "Content-Length": str(len(content)), "Accept-Ranges": "bytes"}
        lines = [
            f"HTTP/1.1 {code} {TYPES[code]}",
            *(f"{name}: {value}" for name, value in (own | (headers or {})).items()),
        ]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + content)


def _kind(method: str, path: str) -> str:
    if path.endswith("/"):
        return "lists"
    return "sidecars" if path.endswith(SIDECARS) else method


def _page(folder: Path, tiles: int) -> bytes:
    layers = [file.name.removeprefix(f"{ANY}_") for file in folder.glob(f"{ANY}_*")]
    names = [f"t{number}_{layer}" for number in range(tiles) for layer in layers]
    links = "".join(f'<a href="{name}">{name}</a>\n' for name in names)
    return f"<html><head><title>Index of /</title></head><body>{links}</body></html>".encode()


async def _serve(folder: Path, listed: int) -> None:
    counts = Counter[str]()
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(folder, listed, counts), "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def serve(folder: str, listed: str) -> None:
    """Serve a folder until the process is killed; print the port."""
    asyncio.run(_serve(Path(folder), int(listed)))


@contextmanager
def serving(folder: Path, listed: int = 0) -> Iterator[str]:
    """Serve a folder from a process of its own; yield the address. listed : number of tiles on its page."""
    script = "import sys; from benchmarks.slow_server import serve; serve(*sys.argv[1:])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, str(folder), str(listed)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def counts_of(address: str) -> Counter[str]:
    """Return the requests since this was last called, by kind; `most` is the largest number at the same time."""
    with urlopen(f"{address}{COUNTS}") as answer:  # noqa: S310  the server is ours
        found = Counter[str](json.loads(answer.read()))
    del found["now"]
    return found


def total(counts: Counter[str]) -> int:
    """Return the number of requests."""
    return sum(number for kind, number in counts.items() if kind != "most")
