"""The program `geouq`, which is also `python -m geouq`."""

import signal
import sys

from geouq.core.interrupts import ENDING, SIGNALLED, interrupts, received
from geouq.core.usage import collect_rarely, compute_matrices_in_one_thread, end_quickly


def main() -> None:
    """Import the commands and run one; a signal that comes meanwhile ends the program like one that comes later."""
    compute_matrices_in_one_thread()
    collect_rarely()
    end_quickly()
    with interrupts():
        try:
            from geouq.cli import main as run_command  # noqa: PLC0415  its imports take most of the time of a start
        except KeyboardInterrupt:
            number = received() or signal.SIGINT
            sys.stderr.write(f"geouq: stopped by {signal.Signals(number).name}; nothing was done\n")
            sys.exit(SIGNALLED + number)
    try:
        run_command(prog_name="geouq")
    finally:  # all is removed and reported: a further signal while Python ends must not change the exit code
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    main()
