"""Programs: ordinary Python with annotated subroutines, compiled into a Q-graph. No torch is needed.

>>> from quantascope.program import Registry, compile_program, when
>>> registry = Registry()
>>> @registry.quantum("PARITY", output_cardinality=2)
... def parity(number):
...     return number % 2
>>> @registry.quantum("ODD", output_cardinality=1)
... def odd(parity):
...     return "odd"
>>> @registry.quantum("EVEN", output_cardinality=1)
... def even(parity):
...     return "even"
>>> @registry.quantum("STAGE", output_cardinality=2)
... def stage(position):
...     return "end" if position else "word"
>>> @registry.quantum("END", output_cardinality=1)
... def end(stage):
...     return "."
>>> @registry.entry(audit=range(10), vocabulary=["odd", "even", "."], end=".")
... def predict(state):
...     now = stage(state.position)
...     with when(now, "end") as finished:
...         if finished:
...             return end(now)
...     with when(now, "word") as writing:
...         if writing:
...             which = parity(state.source)
...             with when(which, 1) as is_odd:
...                 if is_odd:
...                     return odd(which)
...             with when(which, 0) as is_even:
...                 if is_even:
...                     return even(which)
>>> compiled = compile_program(predict)
>>> compiled.to_json()["edges"]
[['STAGE', 'PARITY'], ['STAGE', 'END'], ['PARITY', 'ODD'], ['PARITY', 'EVEN']]
>>> list(compiled.trace([7, 12]).written())
[('odd', '.'), ('even', '.')]
"""

from quantascope.program.compile import compile_program
from quantascope.program.frozen import CompiledProgram
from quantascope.program.guard import when
from quantascope.program.registry import Program, Quantum, Registry
from quantascope.program.state import State
from quantascope.program.trace import ProgramTrace
from quantascope.program.traced import lift
from quantascope.program.violations import ProgramError

__all__ = [
    "CompiledProgram",
    "Program",
    "ProgramError",
    "ProgramTrace",
    "Quantum",
    "Registry",
    "State",
    "compile_program",
    "lift",
    "when",
]
