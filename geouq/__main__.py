"""`python -m geouq` is `geouq`."""

from geouq.cli import main

if __name__ == "__main__":
    main(prog_name="geouq")
