"""The commands of the command line, from the tree of click."""

from collections.abc import Iterator

import click

from generated.markdown import sentence, table
from geouq.cli import EXIT_CODES, main


def commands() -> str:
    """Return a part for each command: how to call it, what it does, its arguments and options."""
    overview = table(
        ("command", "what it does"),
        ((f"[`geouq {name}`](#geouq-{name})", command.get_short_help_str(200)) for name, command in _commands()),
    )
    everywhere = _options(main) + "| `-h`, `--help` |  | Show this help, also of each command. |\n"
    return "\n".join([overview, everywhere, *(_part(name, command) for name, command in _commands())])


def exit_codes() -> str:
    """Return a table of the exit codes."""
    return table(("code", "meaning"), ((str(code), meaning) for code, meaning in EXIT_CODES.items()))


def _commands() -> Iterator[tuple[str, click.Command]]:
    yield from main.commands.items()


def _part(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"geouq {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    text = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n"))
    return "\n".join(
        filter(None, [f"## geouq {name}\n", f"    geouq {name} {usage}\n", f"{text}\n", _options(command)])
    )


def _options(command: click.Command) -> str:
    """Return a table of the options of a command; empty if it has none."""
    options = [one for one in command.params if isinstance(one, click.Option)]
    return table(("option", "values", "what it does"), map(_option, options)) if options else ""


def _option(option: click.Option) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in option.opts)
    default = f" Default: {option.default}." if option.show_default else ""
    return names, _values(option), sentence(option.help or "") + default


def _values(option: click.Option) -> str:
    """Return the values that an option takes; empty for a flag."""
    if option.is_flag or option.flag_value is True:
        return ""
    kind = option.type
    if isinstance(kind, click.Choice):
        return ", ".join(f"`{choice}`" for choice in kind.choices)
    if isinstance(kind, click.IntRange):
        limits = f" from {kind.min}" + (f" to {kind.max}" if kind.max is not None else "")
        return f"whole number{limits}"
    return f"`{option.metavar}`" if option.metavar else "folder" if isinstance(kind, click.Path) else "text"
