"""Names of version 0.1: whoever imports one is told what it is called now."""

import importlib
import re

import pytest

import quantascope
from quantascope.renamed import RENAMED, new_name

OLD_IMPORTS = {
    "from quantascope.priority import factorize, Factors": "priority.factorize is quantascope.discovery.factorize",
    "from quantascope.priority import losses": "priority.losses is quantascope.sources.losses",
    "import quantascope.priority.factors": "priority.factors is quantascope.discovery.factors",
    "import quantascope.priority as old; old.PriorityField": "priority is quantascope.discovery",
    "from quantascope import experiments; experiments.CLAIMS": "experiments is quantascope.claims",
    "from quantascope.experiments.naming_source import NamingSource": "is quantascope.sources.trained",
    "from quantascope.experiments.data_scaling import CLAIM": "is quantascope.claims.data_scaling",
    "from quantascope.report.figures import data_scaling": "is quantascope.claims.figures.data_scaling",
    "from quantascope.run import RunDirectory": "run is quantascope.runs.run_directory",
}


@pytest.mark.parametrize(("statement", "answer"), OLD_IMPORTS.items())
def test_an_import_of_an_old_name_is_answered_with_the_new_one(statement, answer):
    with pytest.raises(ImportError, match=re.escape(answer) + ".* since version 0.2"):
        exec(statement)


def test_so_is_an_attribute():
    with pytest.raises(AttributeError, match=r"quantascope\.properties is quantascope\.quanta\.properties"):
        _ = quantascope.properties


@pytest.mark.parametrize("old", RENAMED)
def test_every_old_name_has_a_successor_that_is_there(old):
    assert new_name(old) == RENAMED[old]


def test_names_that_never_were_here_are_refused_as_python_does():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'quantascope\.nothing'"):
        importlib.import_module("quantascope.nothing")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'quantascope\.experiments\.nothing'"):
        importlib.import_module("quantascope.experiments.nothing")
