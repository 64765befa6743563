"""A program that sends itself a signal where a test says, so that no test has to be faster than the program."""

import sys

PROGRAM = """
import os, signal, sys
from geouq.cli import main

sent, text, times = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
if sent != signal.SIGKILL:
    signal.signal(sent, signal.SIG_DFL)  # the caller may ignore it

def signal_at_text(stream):
    write = stream.write

    def write_and_signal(said):
        global times
        done = write(said)
        if text in said:
            times -= 1
            if times == 0:
                stream.flush()
                os.kill(os.getpid(), sent)
        return done

    stream.write = write_and_signal

signal_at_text(sys.stdout)
signal_at_text(sys.stderr)
sys.argv[1:] = sys.argv[4:]
main()
"""


def signalled(sent, arguments, *, text="\n", times=1):
    """Return the command of the program that gets the signal `sent` as it writes `text` for that many times."""
    return [sys.executable, "-c", PROGRAM, str(int(sent)), text, str(times), *map(str, arguments)]
