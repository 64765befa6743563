"""Show a page to the user: in the browser, or, over SSH, by a command to type."""

import getpass
import shlex
import webbrowser
from collections.abc import Mapping
from pathlib import Path

PORT = 8000


def open_page(folder: Path, environment: Mapping[str, str]) -> str:
    """Open the first page of a run in the browser; return what to tell the user if that is impossible."""
    page = (folder / "report" / "index.html").resolve()
    if "SSH_CONNECTION" in environment and not environment.get("DISPLAY"):
        return forwarding(folder.resolve(), environment["SSH_CONNECTION"], getpass.getuser())
    return "" if webbrowser.open(page.as_uri()) else f"no browser was found; open {page}"


def forwarding(folder: Path, connection: str, user: str) -> str:
    """Return how to see the pages of a run over SSH. connection : value of SSH_CONNECTION, addresses and ports.

    >>> print(forwarding(Path("/data/forest"), "10.0.0.7 50000 10.0.0.9 22", "ada"))
    to see the pages, type on your own computer
      ssh -L 8000:localhost:8000 ada@10.0.0.9 'python3 -m http.server 8000 --bind 127.0.0.1 --directory /data/forest'
    and open http://localhost:8000/report/index.html there
    """
    _, _, address, port = connection.split()
    own_port = "" if port == "22" else f"-p {port} "
    serve = f"python3 -m http.server {PORT} --bind 127.0.0.1 --directory {shlex.quote(str(folder))}"
    line = f"ssh -L {PORT}:localhost:{PORT} {own_port}{user}@{address} {shlex.quote(serve)}"
    url = f"http://localhost:{PORT}/report/index.html"
    return f"to see the pages, type on your own computer\n  {line}\nand open {url} there"
