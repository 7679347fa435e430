"""The public names of quantascope and where they are defined; `__init__.py` reads this file."""

from quantascope.acquisition import AcquisitionTimes as AcquisitionTimes
from quantascope.acquisition import acquisition_times as acquisition_times
from quantascope.claims.claim import reproduce as reproduce
from quantascope.claims.register import CLAIMS as CLAIMS
from quantascope.claims.scoreboard import scoreboard as scoreboard
from quantascope.discovery import Factors as Factors
from quantascope.discovery import PriorityField as PriorityField
from quantascope.discovery import factorize as factorize
from quantascope.discovery import field_cost as field_cost
from quantascope.discovery import priority_field as priority_field
from quantascope.discovery.discover import Discovery as Discovery
from quantascope.discovery.discover import discover as discover
from quantascope.models import TaskMLP as TaskMLP
from quantascope.models import Transformer as Transformer
from quantascope.models.hugging_face import adapt as adapt
from quantascope.models.residual import ResidualModel as ResidualModel
from quantascope.program import Registry as Registry
from quantascope.program import compile_program as compile_program
from quantascope.program import when as when
from quantascope.qmodel import QModel as QModel
from quantascope.quanta.properties import Properties as Properties
from quantascope.runs.engine import open_engine as open_engine
from quantascope.runs.errors import QuantascopeError as QuantascopeError
from quantascope.runs.run_directory import RunDirectory as RunDirectory
from quantascope.scaling import PowerLawFit as PowerLawFit
from quantascope.scaling import fit_power_law as fit_power_law
from quantascope.semantics import Units as Units
from quantascope.semantics import name_units as name_units
from quantascope.sources.hugging_face import hugging_face_source as hugging_face_source
from quantascope.sources.losses import ModuleLosses as ModuleLosses
from quantascope.sources.module import module_source as module_source
from quantascope.sources.open import open_source as open_source
from quantascope.sources.source import Source as Source
from quantascope.tasks.hsp import Forest as Forest
from quantascope.tasks.hsp import build_forest as build_forest
from quantascope.tasks.sequence import SequenceTask as SequenceTask
from quantascope.tasks.task import ExampleTask as ExampleTask
from quantascope.theory import Poset as Poset
from quantascope.theory import parallel as parallel
from quantascope.theory import sequential as sequential
from quantascope.training import Recorder as Recorder
from quantascope.training import Trajectory as Trajectory
from quantascope.training import train as train
from quantascope.training.callbacks import RecorderCallback as RecorderCallback

__version__: str
