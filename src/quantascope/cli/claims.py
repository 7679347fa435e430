"""Commands about the paper's claims."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from quantascope.claims import NAMES, RESULTS
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
    """Reproduce a claim of the paper or one of quantascope's own: train, measure, draw.

    Finished runs are reused and interrupted ones are resumed.

    Args:
        claim: The claim to reproduce.
        preset: quick takes a minute on two cores; full is the reproduction on the scoreboard; paper has
            the seeds, draws and settings of the paper's released code, where these are public.
        set_: Change settings of the preset, as in --set learner.training.steps=500.
        out: Folder for runs, result and figure; runs/CLAIM/PRESET if not given.
        publish: Also copy the result and figure into this folder of committed results. Some claims can be run in
            parts: --set seeds=[0,1] adds these seeds to the published ones.
        replace: Overwrite a different result that is already published there.
        json: Print the result as JSON instead of a table.
    """
    from quantascope.claims.claim import reproduce as run
    from quantascope.claims.figures import write_figure
    from quantascope.claims.publish import check_publishable, publish_result
    from quantascope.claims.register import CLAIMS
    from quantascope.claims.tables import print_result
    from quantascope.models.device import find_device
    from quantascope.report.progress import SweepDisplay

    config = CLAIMS[claim].presets[preset].replace(parse_changes(set_))
    if publish:
        check_publishable(CLAIMS[claim], config, preset)
    if compute.engine == LOCAL:
        find_device(compute.chosen_device)
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
            device=compute.chosen_device,
        )
    figure = write_figure(done)
    result = publish_result(CLAIMS[claim], done, publish, replace=replace) if publish else done.result
    if json:
        print_json(result.to_json())
    else:
        print_result(result)
        say(f"result  {folder / 'result.json'}\nfigure  {figure}")


def _announce_cost(claim: Any, config: Any, compute: Compute) -> None:
    """Print what the paper's protocol costs on this machine before it starts."""
    if claim.cost is None:
        return
    use_threads(compute.threads)
    local, processes = compute.engine == LOCAL, compute.processes
    jobs = list(claim.runs(config).values())
    cost = claim.cost(jobs, processes, compute.chosen_device if local else "cpu")
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
    results: Folder = None,
    all_: Annotated[bool, tyro.conf.arg(name="all")] = False,
    stated: bool = False,
    verdict: Annotated[str | None, tyro.conf.arg(metavar="VERDICT", help_behavior_hint="")] = None,
    totals: bool = False,
    json: bool = False,
    markdown: bool = False,
) -> None:
    """Compare the committed results with the paper's figures, one line per claim.

    A new figure is one that the paper does not state.

    Args:
        claims: Show every figure of these claims only.
        results: Folder with paper.toml and results. Default: the results that ship with quantascope.
        all_: Show every figure of every claim.
        stated: Show only figures that the paper states.
        verdict: Show only figures with this verdict, such as outside.
        totals: Print a Markdown table of verdicts with one line per part of the paper.
        json: Print all figures as a JSON list.
        markdown: Print a Markdown table instead.
    """
    from quantascope.claims.scoreboard import (
        STANDINGS,
        as_markdown,
        read_entries,
        standings,
        standings_markdown,
        totals_markdown,
    )
    from quantascope.claims.scoreboard import scoreboard as rows_of
    from quantascope.claims.tables import print_scoreboard, print_standings

    results = results or RESULTS
    rows = rows_of(results)
    known = list(dict.fromkeys(row.claim for row in rows))
    for claim in claims:
        if claim not in known:
            raise InvalidConfig(f"unknown claim '{claim}'; known claims are {', '.join(known)}")
    if verdict is not None and verdict not in STANDINGS:
        raise InvalidConfig(f"unknown verdict '{verdict}'; known verdicts are {', '.join(STANDINGS)}")
    rows = [row for row in rows if (not claims or row.claim in claims) and (row.stated or not stated)]
    rows = [row for row in rows if verdict in (None, row.verdict)]
    if json:
        print_json([row.to_json() for row in rows])
    elif totals:
        say(totals_markdown(standings(rows, read_entries(results))))
    elif all_ or claims or verdict:
        if markdown:
            say(as_markdown([row for row in rows if row.estimate]))
        else:
            print_scoreboard(rows)
    else:
        found = standings(rows, read_entries(results))
        if markdown:
            say(standings_markdown(found))
        else:
            print_standings(found)
