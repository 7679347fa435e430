"""Priority falls into few binary-temporal factors that follow held-out improvement (section 5.1; appendix G.1).

Sources of several seeds are trained as in the paper. Their field is measured by the paper's gradient rule, whose
figures stand beside the paper's, and along the path. Further sources are trained with Adam at the edge of
stability, where the loss of the full batch oscillates while it falls, to show what each rule is worth there.
Without momentum (β1 = 0) the edge is reached by steps short enough for the loss along one to be integrated.

The figures are compared with two kinds of nulls. Surrogate fields with continuous loadings show how many factors
the factorization finds, and how much it explains, where nothing is binary. The corrective factorization is
compared with them as well: on planted fields it can distinguish overlapping binary supports from continuous
loadings. Random packets (random sets of as many events as the factors have, or single events) show how well the
curves of any events follow the held-out improvement.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from quantascope.claims.claim import Claim, no_summary
from quantascope.claims.result import Estimate
from quantascope.discovery import PriorityField, Rule, factorize
from quantascope.discovery.discover import Discovery, layer_sums
from quantascope.discovery.factorize import Starts
from quantascope.discovery.measure import measure_field
from quantascope.discovery.nulls.beside import (
    SurrogateKind,
    explained_by_nmf,
    explained_by_svd,
    explained_in_training,
    packets,
    surrogates,
)
from quantascope.discovery.nulls.discreteness import CorrectiveFit, Discreteness, discreteness
from quantascope.discovery.nulls.packets import Packet
from quantascope.discovery.ordering import improvement_correlation
from quantascope.models import TransformerConfig, predict
from quantascope.runs.config import Config, FurtherSeeds, Positive, PositiveFloat, Seeds
from quantascope.runs.progress import Progress
from quantascope.runs.run_directory import RunDirectory
from quantascope.sources.trained import Source, SourceConfig, check_source, train_source
from quantascope.training import OptimizerConfig

PANELS = {"priority": "disjoint panel", "contaminated": "the paper's own panel"}
"""Ours, which shares nothing with training, and the authors'."""
PAPER_SOURCE = SourceConfig(model=TransformerConfig(initialization="paper"))
"""With seed 0 the source of the paper's displayed run."""
SOURCES = "number-naming"
"""The set of sources that the discovery claims share."""
Definitions = Literal["ours", "paper"]
FIRST_INTERVAL = 0.9
"""The share of its mass in the first interval from which a curve counts as having nearly all of it there."""

EDGE = OptimizerConfig(name="adam", learning_rate=0.005, betas=(0.0, 0.99))
"""On development seeds 100 and 101 the loss rose in 24 and 18 % of 120 steps, and fell from 4.0 to below 0.03."""


class RecoverQuanta(Config):
    """Sources by seed, and sources beyond first order.

    `definitions="paper"` uses the authors' start of the factorization, their held-out panel, of which a sixth is
    trained on, their correlation with held-out improvement (`improvement_of_authors`) and their `later_bands`.
    """

    LATER: ClassVar[tuple[str, ...]] = ("definitions",)

    source: SourceConfig = SourceConfig()
    seeds: Seeds = tuple(range(20))
    """Enough seeds to show whether factors explain more of sources than of surrogates."""
    threshold: PositiveFloat = 0.03
    unstable: SourceConfig = SourceConfig(optimizer=EDGE, steps=120, replays=0)
    unstable_seeds: FurtherSeeds = (0, 1, 2)
    draws: Positive = 10
    """How often each null is drawn for each source; its mean over draws is the source's."""
    corrective_draws: Positive = 1
    """The same for surrogates that are factored correctively, which takes some seconds each."""
    definitions: Definitions = "ours"

    @property
    def starts(self) -> Starts:
        """How the factorization starts."""
        return "paper" if self.definitions == "paper" else "scaled"

    @property
    def panel(self) -> str:
        """The held-out panel of what is compared with the paper."""
        return "contaminated" if self.definitions == "paper" else "priority"


@dataclass(frozen=True, eq=False)
class MeasuredSource:
    """A trained source whose fields were measured."""

    source: Source

    def field(self, rule: Rule, panel: str = "training") -> PriorityField:
        """The field of a panel's events."""
        return measure_field(self.source, rule, panel)

    def discovery(
        self, rule: Rule, threshold: float, panel: str = "priority", starts: Starts = "scaled"
    ) -> Discovery:
        """The quanta under a rule and threshold, checked on a panel."""
        return Discovery(self.source, threshold, self.field(rule), self.field(rule, panel), starts=starts)


def measured_source(
    config: SourceConfig, path: Path, progress: Progress | None = None, *, device: str = "cpu"
) -> MeasuredSource:
    """Train, or read, a source and measure its fields under both rules.

    Held-out panels are measured for sources that are kept for a Q-model to replay; others show the rules alone.
    """
    source = train_source(config, path, progress, device=device)
    with RunDirectory(path, config).locked():
        for rule in ("gradient", "path"):
            for panel in ("training", "priority", "contaminated") if config.replays else ("training",):
                measure_field(source, rule, panel)
    return MeasuredSource(source)


def seeded(config: SourceConfig, seeds: Sequence[int], label: str) -> dict[str, SourceConfig]:
    """The same source with each seed."""
    return {f"{label}-{seed}": config.model_copy(update={"seed": seed}) for seed in seeds}


def runs(config: RecoverQuanta) -> dict[str, SourceConfig]:
    """The sources of the claim."""
    return seeded(config.source, config.seeds, "seed") | seeded(config.unstable, config.unstable_seeds, "unstable")


def first_interval_curves(found: Discovery) -> int:
    """How many curves have nearly all of their mass in the first interval."""
    return int((found.factors.cumulative[:, 0] >= FIRST_INTERVAL).sum())


def later_bands(found: Discovery, definitions: Definitions = "ours") -> tuple[float, float]:
    """Start of the first and end of the last interval, after the very first, in which a curve reaches half.

    By the paper's definitions the first band is where its interval ends, too.
    """
    interval = found.factors.acquisition_interval[found.factors.acquisition_interval > 0]
    if not len(interval):
        return float("nan"), float("nan")
    first = interval.min() + (definitions == "paper")
    return float(found.trained.steps[first]), float(found.trained.steps[interval.max() + 1])


def measure(config: RecoverQuanta, evidence: Mapping[str, MeasuredSource]) -> dict[str, Estimate]:
    """The paper's figures by its own rule, the same along the path, and what each rule accounts for."""
    sources = [evidence[label] for label in seeded(config.source, config.seeds, "seed")]
    unstable = [evidence[label] for label in seeded(config.unstable, config.unstable_seeds, "unstable")]
    figures: dict[str, Estimate] = {}
    own = config.panel
    (others,) = PANELS.keys() - {own}
    kinds: tuple[tuple[Rule, str, str, str], ...] = (
        ("gradient", "", own, "gradient rule"),
        ("gradient", f"_{others}", others, f"gradient rule, {PANELS[others]}"),
        ("path", "_path", own, "path rule"),
    )
    for rule, suffix, panel, by in kinds:
        found = [source.discovery(rule, config.threshold, panel, config.starts) for source in sources]
        measured = _figures(found, by, config.definitions, whole=panel == own)
        figures |= {f"{key}{suffix}": one for key, one in measured}
        if panel == own:
            figures |= {f"{key}{suffix}": one for key, one in _nulls(found, by, config.draws)}
            figures |= {f"{key}{suffix}": one for key, one in _discreteness(found, by, config.corrective_draws)}
    if config.definitions == "paper":
        figures |= _accuracy(sources, own)
    for label, chosen in (("", sources), ("_unstable", unstable)):
        what = "Adam at the edge of stability" if label else "sources"
        for rule in ("gradient", "path"):
            fields = [source.field(rule) for source in chosen]
            figures[f"completeness_{rule}{label}"] = Estimate.over_runs(
                f"ΣP/ΔL, {rule} rule, {what}", [field.completeness for field in fields]
            )
            figures[f"event_correlation_{rule}{label}"] = Estimate.over_runs(
                f"correlation of credit and loss change by event, {rule} rule, {what}",
                [field.event_correlation for field in fields],
            )
        figures[f"rising_share{label}"] = Estimate.over_runs(
            f"steps at which the loss rose, {what}",
            [100 * (one.source.rising_share or 0.0) for one in chosen],
            "%",
        )
    return figures


def _accuracy(sources: Sequence[MeasuredSource], panel: str) -> dict[str, Estimate]:
    seen = [predict(one.source.model(), one.source.events(panel)) for one in sources]
    token = Estimate.over_runs("token accuracy of the source", [100 * one.token_accuracy for one in seen], "%")
    exact = Estimate.over_runs("greedy exact of the source", [100 * one.exact_accuracy for one in seen], "%")
    return {"source_token_accuracy": token, "source_exact": exact}


def _figures(
    found: Sequence[Discovery], by: str, definitions: Definitions, *, whole: bool
) -> list[tuple[str, Estimate]]:
    def over(says: str, value: Callable[[Discovery], float], unit: str = "") -> Estimate:
        return Estimate.over_runs(f"{says}, {by}", [value(one) for one in found], unit)

    layers = range(len(found[0].trained.layers))
    figures = []
    for layer in layers:
        figures += [
            (
                f"explained_layer_{layer}",
                over(f"held-out SSE explained, layer {layer}", lambda d, n=layer: 100 * d.explained[n], "%"),
            ),
            (
                f"explained_svd_layer_{layer}",
                over(f"by a signed SVD, layer {layer}", lambda d, n=layer: 100 * explained_by_svd(d)[n], "%"),
            ),
            (
                f"explained_nmf_layer_{layer}",
                over(f"by an NMF, layer {layer}", lambda d, n=layer: 100 * explained_by_nmf(d)[n], "%"),
            ),
            (
                f"negative_mass_layer_{layer}",
                over(f"negative mass, layer {layer}", lambda d, n=layer: 100 * d.negative[n], "%"),
            ),
        ]
    correlation = improvement_of_authors if definitions == "paper" else _nll_correlation
    figures.append(("nll_correlation", over("mean curve and held-out improvement", correlation)))
    if not whole:
        return figures
    counts = [("factors", over("factors", lambda d: len(d.factors), "factors"))]
    counts += [
        (f"factors_layer_{layer}", over(f"factors, layer {layer}", lambda d, n=layer: d.per_layer[n], "factors"))
        for layer in layers
    ]
    times = [
        ("first_interval_curves", over("curves within the first interval", first_interval_curves, "factors")),
        ("later_bands_start", over("first later band", lambda d: later_bands(d, definitions)[0], "steps")),
        ("later_bands_end", over("last later band", lambda d: later_bands(d, definitions)[1], "steps")),
    ]
    return [*counts, *figures, *times]


def _nulls(found: Sequence[Discovery], by: str, draws: int) -> list[tuple[str, Estimate]]:
    """Figures of surrogate fields and random packets, and the figures that are compared with them."""
    layers = range(len(found[0].trained.layers))
    figures = [
        (
            f"explained_in_training_layer_{layer}",
            Estimate.over_runs(
                f"training SSE explained, layer {layer}, {by}",
                [100 * explained_in_training(one)[layer] for one in found],
                "%",
            ),
        )
        for layer in layers
    ]
    kinds: tuple[tuple[SurrogateKind, str], ...] = (
        ("loadings", "fields with continuous loadings"),
        ("gaussian", "Gaussian fields of the same covariance"),
    )
    for kind, what in kinds:
        drawn = [
            [factorize(v, threshold=one.threshold, starts=one.starts) for v in surrogates(one, kind, draws)]
            for one in found
        ]
        counts = [np.mean([len(factors) for factors in own]) for own in drawn]
        shares = 100 * np.array([np.mean([layer_sums(one, len(layers)) for one in own], 0) for own in drawn])
        figures.append(
            (f"factors_surrogate_{kind}", Estimate.over_runs(f"factors of {what}, {by}", counts, "factors"))
        )
        figures += [
            (
                f"explained_in_training_surrogate_{kind}_layer_{layer}",
                Estimate.over_runs(f"SSE explained of {what}, layer {layer}, {by}", shares[:, layer], "%"),
            )
            for layer in layers
        ]
    kinds_of_packets: tuple[tuple[Packet, str], ...] = (
        ("sets", "random events of equal demand"),
        ("events", "random single events"),
    )
    for of, what in kinds_of_packets:
        r = [np.mean([one.improvement_correlation_of(p) for p in packets(one, of, draws)]) for one in found]
        says = f"mean curve of {what} and held-out improvement, {by}"
        figures.append((f"nll_correlation_random_{of}", Estimate.over_runs(says, r)))
    return figures


def _discreteness(found: Sequence[Discovery], by: str, draws: int) -> list[tuple[str, Estimate]]:
    """Corrective factors of each source's field and of its surrogates, and the difference for each source."""
    compared = [
        [discreteness(one.trained.values, threshold=one.threshold, draw=draw) for draw in range(draws)]
        for one in found
    ]

    def over(key: str, of: str, value: Callable[[Discreteness], np.ndarray]) -> None:
        each = np.array([np.mean([value(draw) for draw in own], 0) for own in compared])
        says = (
            ("factors", "corrective factors", "factors", 1),
            ("explained", "training SSE explained by corrective factors", "%", 100),
            ("as_many_explained", "training SSE explained by as many corrective factors", "%", 100),
        )
        for (what, words, unit, scale), values in zip(says, each.T, strict=False):
            figures.append(
                (f"corrective_{what}{key}", Estimate.over_runs(f"{words}{of}, {by}", scale * values, unit))
            )

    def size(fit: CorrectiveFit) -> np.ndarray:
        return np.array([sum(fit.numbers), fit.explained])

    figures: list[tuple[str, Estimate]] = []
    over("", "", lambda one: size(one.field))
    over("_surrogate_loadings", " of fields with continuous loadings", lambda one: size(one.loadings))
    over("_surrogate_gaussian", " of Gaussian fields", lambda one: size(one.gaussian))
    over("_beyond_loadings", " beyond continuous loadings", lambda one: one.field.beyond(one.loadings))
    over("_beyond_gaussian", " beyond Gaussian fields", lambda one: one.field.beyond(one.gaussian))
    over("_control", " of a surrogate beyond its own", lambda one: one.loadings.beyond(one.control))
    over("_excess", " beyond continuous loadings and the control", lambda one: one.excess)
    return figures


def _nll_correlation(found: Discovery) -> float:
    return found.improvement_correlation


def improvement_of_authors(found: Discovery) -> float:
    """The correlation with held-out improvement, with the start of training as a point."""
    return improvement_correlation(found.factors, found.held_out_loss, with_start=True)


QUICK = SourceConfig(steps=400, intervals=16, replays=8)
CLAIM = Claim(
    name="recover-quanta",
    says="priority falls into few factors whose mean follows held-out improvement",
    presets={
        "quick": RecoverQuanta(
            source=QUICK,
            seeds=(0,),
            unstable=QUICK.model_copy(update={"optimizer": EDGE, "steps": 60, "replays": 0}),
            unstable_seeds=(0,),
            draws=2,
        ),
        "full": RecoverQuanta(),
        "paper": RecoverQuanta(source=PAPER_SOURCE, seeds=(0,), unstable_seeds=(0,), definitions="paper"),
    },
    runs=runs,
    prepare=check_source,
    work=measured_source,
    steps=lambda source: source.steps,
    measure=measure,
    summary=no_summary,
    keeps_figure=True,
    shares=SOURCES,
)
