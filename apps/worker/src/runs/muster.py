"""What an automation script reports. Standard library only; outside a run it prints instead.

Every report is one line appended to events.jsonl in the run root: the worker reads it from there, so nothing is lost
when the worker is restarted while the script runs.
"""

import contextlib
import contextvars
import datetime
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


def _moment(value):
    """A time as the service reads it: seconds since 1970, a datetime (without a zone it is this machine's), a text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
    if isinstance(value, datetime.datetime):
        text = value.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")
    return value


def _summary_claim(given):
    row = _camel(given)
    if row.get("outcome") not in _outcomes:
        raise ValueError("muster.run_summary: a claim's outcome is one of %s" % ", ".join(_outcomes))
    for name in ("claimId", "npi"):
        if row.get(name) is not None:
            row[name] = str(row[name])
    return row


def _summary_stop(given):
    row = _camel(given)
    row["at"] = _moment(row.get("at", time.time()))
    detail = row.get("detail")
    if detail is not None and not isinstance(detail, str):
        row["detail"] = json.dumps(_plain(detail))
    return row


def run_summary(batch_id=None, claims=None, stop_events=None, **summary):
    """What became of a batch: its claims, why it stopped, and what else there is to say of it.

    A batch that is told again, with the same batch_id, takes the place of what was told before; without one it is the
    run's own batch. Each claim is a dict of claim_id, outcome, and npi, processing_seconds, message where known; each
    stop event one of reason, and at, detail. worker_key, started_at and finished_at are the batch's own.
    """
    batch = _camel(summary)
    for name in ("startedAt", "finishedAt"):
        if name in batch:
            batch[name] = _moment(batch[name])
    if batch_id is not None:
        batch["batchId"] = str(batch_id)
    rows = [_summary_claim(row) for row in claims or []]
    if len(rows) > 10000:
        raise ValueError("muster.run_summary: more than 10,000 claims")
    stops = [_summary_stop(row) for row in stop_events or []]
    _report("run_summary", body={"batchSummary": batch, "claimResults": rows, "stopEvents": stops})


if __name__ == "__main__":
    sys.exit("muster is a module: import it")
