"""Files on a server that takes its time to answer: headers, and the sweep against reading whole files."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from urllib.request import urlopen

import rasterio

from benchmarks.choices import Choice
from benchmarks.measure import RATIO, Table, Watch, compare, ratio_row, seconds, summarized
from benchmarks.programs import geouq, printed_by
from benchmarks.rasters import make_tile
from benchmarks.sweeps import sweep_of
from benchmarks.tiles import LAYERS, path_of, write_config
from geouq.reading.cutting import reading_for
from geouq.runs.plan import FOR_SERVERS

LATENCY = 0.04  # seconds before each answer
TILES = 40
SIDE = 512  # pixels
READERS = 8  # threads of the fastest way to read whole files
COUNTS = "/counts"


class Server(ThreadingHTTPServer):
    """A server of a folder that counts the requests for files."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.requests = folder, Counter[str]()


class Handler(BaseHTTPRequestHandler):
    """Answers with parts of files, over connections that stay open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise the end of an answer waits for the client
    server: Server

    def do_GET(self) -> None:
        """Answer one request, or tell how many there were since the last such question."""
        if self.path == COUNTS:
            counts, self.server.requests = self.server.requests, Counter()
            self._answer(200, str(counts.total()).encode())
            return
        self.server.requests[self.command] += 1
        time.sleep(LATENCY)
        file = self.server.folder / self.path.lstrip("/")
        if not file.is_file():
            self._answer(404)
            return
        size = file.stat().st_size
        first, last = self.headers.get("Range", f"bytes=0-{size - 1}").removeprefix("bytes=").split("-")
        with file.open("rb") as content:
            content.seek(int(first))
            part = content.read(min(int(last or size), size - 1) + 1 - int(first)) if self.command == "GET" else b""
        headers = {
            "Last-Modified": self.date_time_string(file.stat().st_mtime),
            "Content-Range": f"bytes {first}-{last}/{size}",
        }
        length = len(part) if self.command == "GET" else size
        self._answer(206 if "Range" in self.headers else 200, part, headers | {"Content-Length": str(length)})

    do_HEAD = do_GET  # noqa: N815  as http.server calls it

    def _answer(self, status: int, content: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def serve(folder: str) -> None:
    """Serve a folder until the process is killed; print the port."""
    server = Server(Path(folder))
    print(server.server_port, flush=True)
    server.serve_forever()


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder from a process of its own; yield the address."""
    script = "import sys; from benchmarks.remote import serve; serve(sys.argv[1])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, str(folder)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def remote_section(choice: Choice) -> Table:
    """Measure headers and sweep of files on a server."""
    name, names = make_tile(choice.data, choice.side(SIDE), "deflate"), [f"t{k}" for k in range(TILES)]
    folder = choice.data / f"{name}-remote"
    folder.mkdir(exist_ok=True)
    for one, layer in product(names, LAYERS):
        if not path_of(folder, one, layer).exists():
            path_of(folder, one, layer).symlink_to(path_of(choice.data, name, layer).absolute())
    workers, files = FOR_SERVERS * choice.threads, TILES * len(LAYERS)
    with serving(folder) as address:
        config = on_server(write_config(folder, "remote", tiles=f"[{', '.join(names)}]"), address)
        check, watch = partial(printed_by, geouq("check", config)), Watch()
        checks = summarized([seconds(check) for _ in range(choice.times())], watch)
        _requests(address)
        check()
        requests = summarized([_requests(address) / files], Watch())
        again = partial(printed_by, geouq("check", config, "--trust-for", "1d"))
        again()
        _requests(address)
        trusting = summarized([seconds(again) for _ in range(choice.times())], watch)
        trusted = summarized([_requests(address) / files], Watch())
        sweep = sweep_of(config, workers, reading_of=partial(reading_for, workers=workers))
        whole = partial(_read_whole, [f"{address}/{path_of(folder, *one).name}" for one in product(names, LAYERS)])
        rows = (
            ratio_row(f"seconds of `geouq check` of {files} files", checks, "<= 2.5"),
            ratio_row("requests of it for each file", requests, "<= 4"),
            ratio_row("seconds of a second `geouq check --trust-for 1d`", trusting, "<= 2.5"),
            ratio_row("requests of it for each file", trusted, "<= 0"),
            ratio_row(
                f"sweep / whole files read by rasterio in {READERS} threads",
                compare(sweep, whole, choice.times()),
                "<= 1.20",
            ),
        )
    note = (
        f"{TILES} tiles of {len(LAYERS)} files, 5 variables, {choice.side(SIDE)} x {choice.side(SIDE)} pixels, on a "
        f"server of this machine that waits {1000 * LATENCY:.0f} ms before each answer; {workers} threads sweep."
    )
    return Table("Files on a server", note, ("what", "measured", *RATIO[1:]), rows)


def on_server(config: Path, address: str) -> Path:
    """Return a configuration with the layers on a server, and the results beside it."""
    far = config.read_text("utf-8").replace('"{tile}_', f'"{address}/{{tile}}_')
    config.write_text(far.replace("output: {", f"output: {{directory: {config.parent / 'results'}, "), encoding="utf-8")
    return config


def _requests(address: str) -> int:
    """Return the number of requests since this was last called."""
    with urlopen(f"{address}{COUNTS}") as answer:  # noqa: S310  the server is ours
        return int(answer.read())


def _read_whole(addresses: list[str]) -> None:
    """Decode all bands of files on a server, as many at a time as there are readers."""

    def read(address: str) -> None:
        """Decode one file, without a look for others beside it."""
        with rasterio.Env(GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR"), rasterio.open(address) as source:
            source.read()

    with ThreadPoolExecutor(READERS) as pool:
        list(pool.map(read, addresses))
