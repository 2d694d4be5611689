"""What an automation script reports. Standard library only; outside a run it prints instead.

Every report is one line appended to events.jsonl in the run root: the worker reads it from there, so nothing is lost
when the worker is restarted while the script runs.
"""

import contextlib
import contextvars
import json
import os
import shutil
import sys
import time
import uuid

_root = os.environ.get("MUSTER_RUN_ROOT", "")
_events = os.path.join(_root, "events.jsonl") if _root and os.environ.get("MUSTER_JOB_ID") else None
_current = contextvars.ContextVar("muster_step", default=None)
_limit = 4 * 1024 * 1024
_outcomes = ("eob_uploaded", "no_eob_found", "failed")


def _variables():
    try:
        with open(os.path.join(_root, "inputs.json"), encoding="utf-8") as file:
            return json.load(file).get("variables") or {}
    except (OSError, ValueError):
        return {}


variables = _variables() if _root else {}


def _plain(value):
    """What JSON can say of a value: NaN is no number to it, and a key is a text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _report(kind, **fields):
    fields = {name: _plain(value) for name, value in fields.items() if value is not None}
    line = json.dumps({"type": kind, "at": time.time(), **fields})
    data = line.encode("ascii") + b"\n"
    if len(data) > _limit:
        raise ValueError("muster.%s: more than %d bytes" % (kind, _limit))
    if _events is None:
        print("[muster] %s" % line, flush=True)
        return
    # One write with O_APPEND: lines of several threads and processes don't mix.
    file = os.open(_events, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, data)
    finally:
        os.close(file)


@contextlib.contextmanager
def step(name, metadata=None, step_id=None):
    """A step of the run: running, then passed, or failed with the error that left it."""
    key = uuid.uuid4().hex
    _report("step_started", key=key, name=str(name), metadata=metadata, stepId=step_id)
    token = _current.set(key)
    try:
        yield
    except BaseException as error:
        if isinstance(error, SystemExit) and not error.code:
            _report("step_finished", key=key, status="passed")
        else:
            text = "%s: %s" % (type(error).__name__, error)
            _report("step_finished", key=key, status="failed", error=text[:8192])
        raise
    else:
        _report("step_finished", key=key, status="passed", metadata=metadata)
    finally:
        _current.reset(token)


def log(level, message):
    _report("log", level=str(level), message=str(message))


def ai_usage(provider, model, input_tokens=0, output_tokens=0, cost_usd=None):
    """What a language model used. It belongs to the step that is open, or else to one of its own.

    cost_usd matters where the service knows no price of the model."""
    usage = {
        "provider": str(provider),
        "model": str(model),
        "inputTokens": int(input_tokens),
        "outputTokens": int(output_tokens),
    }
    if cost_usd is not None:
        usage["costUsd"] = float(cost_usd)
        if not 0 <= usage["costUsd"] <= 1000000:
            raise ValueError("muster.ai_usage: cost_usd is from 0 to 1000000")
    _report("ai_usage", key=_current.get(), usage=usage)


def claim(claim_id, outcome, npi=None, message=None, metadata=None):
    if outcome not in _outcomes:
        raise ValueError("muster.claim: the outcome is one of %s" % ", ".join(_outcomes))
    row = {"claimId": str(claim_id), "outcome": outcome}
    optional = {"npi": None if npi is None else str(npi), "message": message, "metadata": metadata}
    row.update({name: value for name, value in optional.items() if value is not None})
    _report("claim", claim=row)


def screenshot(path):
    _upload(path, True)


def artifact(path):
    _upload(path, False)


def _upload(path, is_screenshot):
    name = os.path.basename(os.fspath(path))
    if _events is None:
        _report("upload", filename=name, screenshot=is_screenshot)
        return
    # As it is now: the script may write to it again or remove it.
    folder = os.path.join(_root, "uploads")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    copy = uuid.uuid4().hex
    shutil.copyfile(path, os.path.join(folder, copy))
    _report("upload", file=copy, filename=name, screenshot=is_screenshot)


def result(value):
    """The run's result: any JSON value. The last one counts."""
    text = json.dumps(_plain(value), ensure_ascii=False)
    if len(text.encode("utf-8", "replace")) > 256 * 1024:
        raise ValueError("muster.result: more than 256 KiB of JSON")
    _report("result", value={"of": value})


def error_code(code):
    """A word for machines that says why the run fails, beside its error. The last one counts."""
    _report("error_code", code=str(code))


def progress(percent, current_step=None):
    _report("progress", percent=float(percent), currentStep=current_step)


def _camel(row):
    def name(key):
        head, *rest = str(key).split("_")
        return head + "".join(part[:1].upper() + part[1:] for part in rest)

    return {name(key): value for key, value in dict(row).items()}


def run_summary(batch_id=None, claims=None, stop_events=None, **summary):
    batch = _camel(summary)
    if batch_id is not None:
        batch["batchId"] = str(batch_id)
    body = {
        "batchSummary": batch,
        "claimResults": [_camel(row) for row in claims or []],
        "stopEvents": [_camel(row) for row in stop_events or []],
    }
    _report("run_summary", body=body)


if __name__ == "__main__":
    sys.exit("muster is a module: import it")
