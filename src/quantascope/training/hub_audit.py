"""Is a checkpoint series on the Hugging Face hub whole? Answered by metadata alone, without a download.

Each revision that names a step is one checkpoint (`step1000`, `stage1-step1000-tokens5B`); if none does, the
folders of the main revision are (`checkpoint-500/`). The hub lists every file with the digest of its content. That
shows weights that are the same under two steps, missing shards, and steps that are missing or there twice. What
only the weights show (order, descent, non-finite values) needs `audit` on a download.
"""

import importlib
import re
from pathlib import Path
from typing import Any

from quantascope.runs.errors import InvalidConfig
from quantascope.training.audit import missing_steps
from quantascope.training.checkpoint_files import INDEX, PICKLED, SAFE, SHARD, WeightFile, is_weights
from quantascope.training.checkpoint_names import by_step
from quantascope.training.finding import Finding

_STEP = re.compile(r"(step|iter|checkpoint|ckpt)\w*?[-_=. ]*\d", re.IGNORECASE)


def audit_hub(
    repository: str,
    *,
    endpoint: str | None = None,
    token: str | None = None,
    branch: str | None = None,
    expected: tuple[int, ...] = (),
) -> list[Finding]:
    """What is wrong with the checkpoints of a model on the hub, such as "EleutherAI/pythia-70m".

    `endpoint` is another hub than huggingface.co. Only public metadata is asked for unless a `token` is given.
    """
    digests, revisions = _listed(repository, endpoint, token)
    files = [WeightFile(name, Path(name)) for name in digests]
    found = by_step([file for file in files if is_weights(file.path)], branch=branch, where=repository)
    if not found:
        raise InvalidConfig(
            f"{repository} has no checkpoints by step in {len(revisions)} revisions; give a model whose revisions "
            "or folders name steps"
        )
    findings = [
        Finding("duplicated step", step, f"step {step} is there {len(groups)} times: {', '.join(sorted(groups))}")
        for step, groups in found.items()
        if len(groups) > 1
    ]
    findings += missing_steps(list(found), sorted(expected))
    checkpoints = {step: next(iter(groups.values())) for step, groups in found.items()}
    for step, group in checkpoints.items():
        findings += _missing_shards(step, [file.name for file in group])
    return [*findings, *_identical(checkpoints, digests)]


def _listed(repository: str, endpoint: str | None, token: str | None) -> tuple[dict[str, str], list[str]]:
    """The digest of every file by revision and path, and all revisions."""
    try:
        hub = importlib.import_module("huggingface_hub.hf_api")
        errors = importlib.import_module("huggingface_hub.errors")
    except ImportError:
        raise InvalidConfig("huggingface_hub is not installed; pip install 'quantascope[transformers]'") from None
    # A saved token is for the hub that it was made for, and public series need none.
    api = hub.HfApi(endpoint=endpoint, token=token or False)
    where = f"{api.endpoint}/{repository}"
    try:
        refs = api.list_repo_refs(repository)
        revisions = [ref.name for ref in [*refs.branches, *refs.tags]]
        named = [name for name in dict.fromkeys(revisions) if _STEP.search(name)]
        if named:
            return {
                f"{name}/{path}": digest
                for name in named
                for path, digest in _tree(hub, api, repository, name).items()
            }, revisions
        return _tree(hub, api, repository, "main"), revisions
    except errors.HFValidationError:
        raise InvalidConfig(f"'{repository}' is not the name of a model on the hub; give OWNER/NAME") from None
    except errors.RepositoryNotFoundError:
        raise InvalidConfig(f"there is no public model {where}; check its name, or give a token") from None
    except errors.OfflineModeIsEnabled:
        raise InvalidConfig(f"cannot ask {where}: HF_HUB_OFFLINE is set; unset it") from None
    except (errors.HTTPError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidConfig(f"cannot ask {where} ({reason}); check the network, or try again later") from None


def _tree(hub: Any, api: Any, repository: str, revision: str) -> dict[str, str]:
    """The digest of each file of a revision: of its content if it is large, else of its git object."""
    return {
        entry.path: entry.lfs.sha256 if entry.lfs else entry.blob_id
        for entry in api.list_repo_tree(repository, recursive=True, revision=revision)
        if isinstance(entry, hub.RepoFile)
    }


def _missing_shards(step: int, names: list[str]) -> list[Finding]:
    """Shards whose number is missing among those that say how many there are, or that only have an index."""
    findings = []
    for suffix in (SAFE, *PICKLED):
        shards = [match for name in names if name.endswith(suffix) and (match := SHARD.search(Path(name).stem))]
        counts = {int(match[2]) for match in shards}
        have = {int(match[1]) for match in shards}
        if not shards and any(name.endswith(suffix + INDEX) for name in names):
            findings.append(
                Finding("missing shard", step, f"step {step} has an index of {suffix} shards, but none")
            )
        elif len(counts) > 1:
            several = " and ".join(map(str, sorted(counts)))
            says = f"step {step} mixes {suffix} shards of sets of {several}"
            findings.append(Finding("missing shard", step, says))
        elif counts and (absent := _first_absent(have, max(counts))):
            says = f"step {step}: {suffix} shard {absent} of {max(counts)} is missing"
            findings.append(Finding("missing shard", step, says))
    return findings


def _first_absent(have: set[int], count: int) -> int | None:
    return None if len(have) == count else next(number for number in range(1, count + 1) if number not in have)


def _identical(checkpoints: dict[int, list[WeightFile]], digests: dict[str, str]) -> list[Finding]:
    """Files with the same content under two steps; weights that are the same at all steps are frozen."""
    by_name: dict[str, dict[int, str]] = {}
    for step, group in checkpoints.items():
        for file in group:
            if not file.name.endswith(INDEX):
                by_name.setdefault(file.path.name, {})[step] = digests[file.name]
    findings = []
    for name, of_step in sorted(by_name.items()):
        if len(set(of_step.values())) == 1 and len(of_step) > 2:
            continue
        seen: dict[str, int] = {}
        for step, digest in sorted(of_step.items()):
            if digest in seen:
                says = f"step {step}: {name} is the same file as at step {seen[digest]}"
                findings.append(Finding("identical file", step, says))
            seen.setdefault(digest, step)
    return findings
