"""The public index: what is loaded at run time is what a type checker sees."""

from pathlib import Path

import pytest

import quantascope


def test_every_public_name_is_what_importing_it_as_the_stub_says_gives():
    seen = {}
    exec(Path(quantascope.__file__).with_suffix(".pyi").read_text(), seen)
    assert {name for name in seen if not name.startswith("__")} == set(quantascope.__all__)
    for name in quantascope.__all__:
        assert getattr(quantascope, name) is seen[name]


def test_an_unknown_name_is_refused_with_those_that_there_are():
    with pytest.raises(AttributeError, match=r"quantascope has no 'Posset'; it has .*Poset"):
        _ = quantascope.Posset


def test_what_a_program_of_ones_own_needs_is_public():
    from quantascope.program import Registry, compile_program, lift, when

    ours = (quantascope.Registry, quantascope.compile_program, quantascope.lift, quantascope.when)
    assert ours == (Registry, compile_program, lift, when)
