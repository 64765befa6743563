"""Servers of files on this machine that stall, break off, or fail."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

FAULTS = ("stalls", "resets", "fails", "breaks off")  # after which a request may succeed
ERRORS = {"fails": 500, "is busy": 429, "refuses": 403}
BROKEN = ("stalls", "resets", "redirects")
HALVED = ("breaks off", "shortens")
STALL = 60  # seconds
ELSEWHERE = "/elsewhere"  # path of the files of a server that redirects
RESET_ON_CLOSE = (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Server(ThreadingHTTPServer):
    """A server of a folder; of its first requests so many are faulty, and `asked` are the paths of all of them.

    at : the only path that is faulty, '' for all. method : the only method, '' for all. before : number of requests
    that come before the first faulty one. page : content at the address of the folder. key : required in each request.
    """

    def __init__(
        self,
        folder: Path,
        fault: str,
        faulty: int,
        at: str,
        *,
        method: str = "",
        before: int = 0,
        page: str = "",
        key: str = "",
    ) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.fault, self.faulty, self.at = folder, fault, faulty, at
        self.method, self.before, self.page, self.key = method, before, page, key
        self.asked: list[str] = []
        self.ended = threading.Event()

    def is_faulty(self, method: str, path: str) -> bool:
        """Return whether the last request that was noted is answered with the fault."""
        in_turn = self.before < len(self.asked) <= self.before + self.faulty
        return in_turn and path.startswith(self.at) and method.startswith(self.method)

    def handle_error(self, *_: object) -> None:
        """Ignore clients that gave up."""


class Handler(BaseHTTPRequestHandler):
    """Answers with bytes of files, or not."""

    server: Server

    def do_GET(self) -> None:
        """Answer one request."""
        self.server.asked.append(self.path)
        fault = self.server.fault if self.server.is_faulty(self.command, self.path) else ""
        file = self.server.folder / urlsplit(self.path).path.lstrip("/")
        if fault in BROKEN:
            self._break(fault)
        elif fault in ERRORS:
            self.send_error(ERRORS[fault])
        elif self.server.key and self.headers.get("X-Key") != self.server.key:
            self.send_error(401)
        elif self.path == "/" and self.server.page:
            self._send_all(self.server.page.encode())
        else:
            self._send(file, fault)

    do_HEAD = do_GET  # noqa: N815  as http.server calls it

    def _break(self, fault: str) -> None:
        """Answer late, not at all, or with another address."""
        if fault == "stalls":
            self.server.ended.wait(STALL)
        elif fault == "resets":
            self.connection.setsockopt(*RESET_ON_CLOSE)
            self.connection.close()
        elif self.path.startswith(ELSEWHERE):
            self._send(self.server.folder / self.path.removeprefix(ELSEWHERE).lstrip("/"), "")
        else:
            self.send_response(302)
            self.send_header("Location", f"{ELSEWHERE}{self.path}")
            self.end_headers()

    def _send_all(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _send(self, file: Path, fault: str) -> None:
        """Send the file, or half of it for "breaks off" and "shortens"; only "shortens" declares the half."""
        if not file.is_file():
            self.send_error(404)
            return
        content = file.read_bytes()
        if fault == "sends all" and self.command == "GET":
            self._send_all(content)
            return
        share, says_so = (0.5 if fault in HALVED else 1), fault == "shortens"
        asked = self.headers.get("Range", f"bytes=0-{len(content) - 1}").removeprefix("bytes=").split("-")
        first, last = int(asked[0]), min(int(asked[1] or len(content)), len(content) - 1)
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        sent = int((last + 1 - first) * share) if self.command == "GET" else last + 1 - first
        self.send_header("Content-Length", str(sent if says_so else last + 1 - first))
        self.send_header("Last-Modified", self.date_time_string(file.stat().st_mtime))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[first : first + sent])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(
    folder: Path,
    fault: str = "",
    faulty: int = 0,
    at: str = "",
    *,
    method: str = "",
    before: int = 0,
    page: str = "",
    key: str = "",
) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder; give the address, and the paths of the requests."""
    server = Server(folder, fault, faulty, at, method=method, before=before, page=page, key=key)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.asked
    finally:
        server.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
