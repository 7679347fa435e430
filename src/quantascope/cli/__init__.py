"""The command line: one file per family of commands. A command is a thin function; its docstring is its help."""

from quantascope.cli.main import main as main
