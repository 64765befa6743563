"""Servers of files on this machine that stall, break off, or fail."""

import socket
import struct
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

STALL = 60  # seconds
RESET_ON_CLOSE = (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Handler(BaseHTTPRequestHandler):
    """Answers with bytes of files; the first requests of each server behave as it is told to."""

    def do_GET(self):
        self.server.asked.append(self.path)
        fault = self.server.fault if next(self.server.number) < self.server.faulty else None
        file = self.server.folder / self.path.lstrip("/")
        if fault == "stalls":
            self.server.ended.wait(STALL)
        elif fault == "resets":
            self.connection.setsockopt(*RESET_ON_CLOSE)
            self.connection.close()
        elif fault == "fails":
            self.send_error(500)
        elif not file.is_file():
            self.send_error(404)
        else:
            self._send(file.read_bytes())

    do_HEAD = do_GET  # noqa: N815  as http.server calls it

    def _send(self, content):
        wanted = self.headers.get("Range", f"bytes=0-{len(content) - 1}").removeprefix("bytes=").split("-")
        first, last = int(wanted[0]), min(int(wanted[1] or len(content)), len(content) - 1)
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.send_header("Content-Length", str(last + 1 - first))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[first : last + 1])

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that gave up is no fault of the server."""


@contextmanager
def serving(folder, fault=None, faulty=0):
    """The address of a server of a folder, and what it was asked for; of its first requests so many are faulty."""
    server = Server(("127.0.0.1", 0), Handler)
    server.folder, server.fault, server.faulty = folder, fault, faulty
    server.number, server.asked, server.ended = count(), [], threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.asked
    finally:
        server.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
