"""Servers in processes of their own, as GDAL may wait for one with the interpreter's lock."""

import os
import subprocess
import sys
from contextlib import contextmanager

# before the script of a server that werkzeug serves: its requests go to the file of the first argument
COUNTING = """import sys
from werkzeug.serving import WSGIRequestHandler as Handler
Handler.log_request = lambda self, *_: print(self.command, self.path, file=open(sys.argv[1], "a"))
"""
S3 = """import threading
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
server.start()
print(*server.get_host_and_port(), sep=":", flush=True)
threading.Event().wait()
"""


@contextmanager
def serving_elsewhere(script, *arguments):
    """Run the script of a server; the address that it prints."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()
