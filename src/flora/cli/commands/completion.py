"""``flora completion``: a script that lets a shell complete commands and options."""

import argparse
import shlex
from argparse import Namespace
from dataclasses import dataclass
from typing import Any

from flora.cli.parsed import options_of
from flora.cli.plain import print_line

SHELLS = ("bash", "zsh", "fish")
Options = dict[str, list[str]]  # an option, and the values that it takes where they are few


@dataclass(frozen=True)
class CompletionOptions:
    """What ``flora completion`` was asked for."""

    shell: str


def add_arguments(parser: Any) -> None:
    """Say what may be typed."""
    parser.add_argument("shell", choices=SHELLS, help='as in: eval "$(flora completion bash)"')


def run(parsed: Namespace) -> None:
    """Print the script."""
    shell = options_of(CompletionOptions, parsed).shell
    from flora.cli.main import COMMANDS

    commands = {name: options_of_command(name) for name in COMMANDS}
    print_line(_fish(commands) if shell == "fish" else _bash(commands, zsh=shell == "zsh"))


def options_of_command(name: str) -> Options:
    """Return the options of a command."""
    from flora.cli.main import command

    parser = argparse.ArgumentParser()
    command(name).add_arguments(parser)
    return {
        option: [str(choice) for choice in action.choices or ()]
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--")
    }


def _bash(commands: dict[str, Options], *, zsh: bool) -> str:
    cases = "\n".join(f"    {name}) words={shlex.quote(' '.join(options))} ;;" for name, options in commands.items())
    valued = {option: choices for options in commands.values() for option, choices in options.items() if choices}
    values = "\n".join(f"    {option}) words={shlex.quote(' '.join(c))} ;;" for option, c in valued.items())
    first = "autoload -U +X bashcompinit && bashcompinit\n" if zsh else ""
    return f"""{first}_flora() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W {shlex.quote(" ".join(commands))} -- "$cur")); return
  fi
  case "$prev" in
{values}
  esac
  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$cur")); return; fi
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}}
complete -o filenames -F _flora flora"""


def _fish(commands: dict[str, Options]) -> str:
    lines = [f"complete -c flora -f -n __fish_use_subcommand -a {name}" for name in commands]
    for name, options in commands.items():
        for option, choices in options.items():
            values = f" -x -a {shlex.quote(' '.join(choices))}" if choices else ""
            lines.append(f"complete -c flora -n '__fish_seen_subcommand_from {name}' -l {option[2:]}{values}")
    return "\n".join(lines)
