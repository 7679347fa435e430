"""Programs from files: `FILE.py` or `FILE.py:entry`."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from quantascope.errors import QuantascopeError
from quantascope.program.registry import Program
from quantascope.program.violations import InvalidEntry


def load_module(file: Path) -> ModuleType:
    """Run a file as a module."""
    if not file.is_file():
        raise InvalidEntry(f"there is no program file {file}", "give the path of a Python file")
    specification = importlib.util.spec_from_file_location(f"program {file.stem}", file)
    if specification is None or specification.loader is None:
        raise InvalidEntry(f"{file} is not a Python file", "give a file that ends in .py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[module.__name__] = module  # dataclasses look up the module of a class by its name
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        specification.loader.exec_module(module)
    except QuantascopeError:
        raise
    except (Exception, SystemExit) as error:
        complaint = " ".join(str(error).split())
        raise InvalidEntry(
            f"{file} cannot be imported: {type(error).__name__}: {complaint}", "mend the file"
        ) from error
    return module


def program_in(module: ModuleType, entry: str | None) -> Program:
    """The program of a module by the name of its entry, or the only one."""
    programs = {name: value for name, value in vars(module).items() if isinstance(value, Program)}
    file, known = Path(module.__file__ or module.__name__).name, ", ".join(programs) or "none"
    if not programs:
        raise InvalidEntry(f"{file} has no entry", "declare one with @registry.entry(…)")
    if entry is None and len(programs) > 1:
        raise InvalidEntry(
            f"{file} has {len(programs)} entries", f"name one of them, as in {file}:{next(iter(programs))}"
        )
    if entry is not None and entry not in programs:
        raise InvalidEntry(f"{file} has no entry '{entry}'", f"its entries are: {known}")
    return programs[entry or next(iter(programs))]
