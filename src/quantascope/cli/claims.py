"""Commands about the paper's claims."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from quantascope.claims import NAMES
from quantascope.cli.arguments import Changes, Folder, parse_changes, print_json
from quantascope.cli.compute import ALL_CORES, Compute, ComputeFlags
from quantascope.report.text import say
from quantascope.runs.engine import LOCAL, use_threads
from quantascope.runs.errors import InvalidConfig

if TYPE_CHECKING:
    Claim = str
else:
    Claim = Literal[NAMES]
Preset = Literal["quick", "full", "paper"]


def reproduce(
    claim: tyro.conf.Positional[Claim],
    /,
    preset: Preset = "quick",
    set_: Changes = (),
    out: Folder = None,
    compute: ComputeFlags = ALL_CORES,
    publish: Folder = None,
    replace: bool = False,
    json: bool = False,
) -> None:
    """Reproduce a claim of the paper: train, measure, draw.

    Runs that are already there are reused, interrupted ones taken up again.

    Args:
        claim: Which claim.
        preset: quick takes a minute on two cores; full is the reproduction on the scoreboard; paper is the
            paper's own set of runs.
        set_: Change settings of the preset, as in --set learner.training.steps=500.
        out: Folder for runs, result and figure; runs/CLAIM/PRESET if not given.
        publish: Also copy result and figure into this folder of committed results.
        replace: Replace another result that was published there.
        json: Print the result as JSON instead of a table.
    """
    from quantascope.claims.claim import reproduce as run
    from quantascope.claims.figures import write_figure
    from quantascope.claims.register import CLAIMS
    from quantascope.claims.tables import print_result, publish_result
    from quantascope.models.device import find_device
    from quantascope.report.progress import SweepDisplay

    config = CLAIMS[claim].presets[preset].replace(parse_changes(set_))
    if publish and config != CLAIMS[claim].presets[preset]:
        raise InvalidConfig(f"settings of the {preset} preset were changed; publish it without --set")
    if compute.engine == LOCAL:
        find_device(compute.device)
    folder = out or Path("runs") / claim / (f"{preset}-{config.hash()}" if set_ else preset)
    if preset == "paper":
        _announce_cost(CLAIMS[claim], config, compute)
    shares = CLAIMS[claim].shares
    shared = Path("runs") / shares if shares and out is None else None
    with compute.pool() as executor, SweepDisplay() as display:
        done = run(
            CLAIMS[claim],
            config,
            preset=preset,
            folder=folder,
            engine=executor,
            watch=display,
            shared=shared,
            device=compute.device,
        )
    figure = write_figure(done)
    if publish:
        publish_result(done, publish, replace=replace)
    if json:
        print_json(done.result.to_json())
    else:
        print_result(done.result)
        say(f"result  {folder / 'result.json'}\nfigure  {figure}")


def _announce_cost(claim: Any, config: Any, compute: Compute) -> None:
    """Say what the paper's protocol takes here before it is begun."""
    if claim.cost is None:
        return
    use_threads(compute.threads)
    local, processes = compute.engine == LOCAL, compute.processes
    jobs = list(claim.runs(config).values())
    cost = claim.cost(jobs, processes, compute.device if local else "cpu")
    several = "process" if processes == 1 else "processes"
    where = f"{processes} {several} of this machine" if local else "one process like those of this machine"
    say(
        f"{len(jobs)} runs of up to {max(claim.steps(job) for job in jobs):,} steps: about {cost} on {where}",
        aside=True,
    )


def scoreboard(
    claims: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="CLAIM ...", help_behavior_hint="")
    ] = (),
    /,
    results: Path = Path("results"),
    stated: bool = False,
    json: bool = False,
    markdown: bool = False,
) -> None:
    """Show every figure of the paper beside the committed results.

    Args:
        claims: Only these claims; all if none is given.
        results: Folder with paper.toml and the results.
        stated: Only figures that the paper states.
        json: Print a JSON list of rows.
        markdown: Print a Markdown table of the rows that were run.
    """
    from quantascope.claims.scoreboard import as_markdown
    from quantascope.claims.scoreboard import scoreboard as rows_of
    from quantascope.claims.tables import print_scoreboard

    rows = rows_of(results)
    known = list(dict.fromkeys(row.claim for row in rows))
    for claim in claims:
        if claim not in known:
            raise InvalidConfig(f"unknown claim '{claim}'; known claims are {', '.join(known)}")
    rows = [row for row in rows if (not claims or row.claim in claims) and (row.stated or not stated)]
    if json:
        print_json([row.to_json() for row in rows])
    elif markdown:
        say(as_markdown([row for row in rows if row.verdict != "not run"]))
    else:
        print_scoreboard(rows)
