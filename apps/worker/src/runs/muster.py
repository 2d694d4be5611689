"""Reports of an automation script. Uses only the standard library. Outside of a run, reports are printed instead.

Every report is one line appended to events.jsonl in the run root. The worker reads that file, so no report is lost if
the worker is restarted while the script runs.
"""

import contextlib
import contextvars
import datetime
import json
import os
import re
import shutil
import sys
import time
import uuid

_root = os.environ.get("MUSTER_RUN_ROOT", "")
_events = os.path.join(_root, "events.jsonl") if _root and os.environ.get("MUSTER_JOB_ID") else None
_current = contextvars.ContextVar("muster_step", default=None)
_limit = 4 * 1024 * 1024
_account_failures = ("locked", "expired", "other")
_outcomes = ("eob_uploaded", "no_eob_found", "failed")
_deepest = 50
_day = 24 * 3600
_time = r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?"


def _read_input(name):
    try:
        with open(os.path.join(_root, "inputs.json"), encoding="utf-8") as file:
            return json.load(file).get(name) or {}
    except (OSError, ValueError):
        return {}


variables = _read_input("variables") if _root else {}
# The pool of each account that the run has, by the name of the account in the environment.
_accounts = _read_input("accounts") if _root else {}


def _to_json_value(value, depth=0):
    """Converts a value to one that JSON can represent: NaN and infinity become null, and keys become texts."""
    if depth > _deepest:
        raise ValueError("muster: a value is nested deeper than %d levels" % _deepest)
    if isinstance(value, dict):
        return {str(key): _to_json_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_to_json_value(item, depth + 1) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


# These checks refuse what the service would refuse, so that the script's author sees the line with the error.


def _require_text(what, value, most, least=1):
    if value is None:
        return None
    text = str(value)
    if not least <= len(text) <= most:
        raise ValueError("muster.%s must have %d to %d characters, not %d" % (what, least, most, len(text)))
    return text


def _require_number(what, value, most):
    if value is not None and not 0 <= value <= most:
        raise ValueError("muster.%s must be from 0 to %d, not %s" % (what, most, value))
    return value


def _require_dict(what, value, most_bytes=None):
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("muster.%s must be a dict, not %s" % (what, type(value).__name__))
    plain = _to_json_value(value)
    if most_bytes and len(json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")) > most_bytes:
        raise ValueError("muster.%s has more than %d bytes of JSON" % (what, most_bytes))
    return plain


def _append_report(kind, **fields):
    fields = {name: _to_json_value(value) for name, value in fields.items() if value is not None}
    line = json.dumps({"type": kind, "at": time.time(), **fields})
    data = line.encode("ascii") + b"\n"
    if len(data) > _limit:
        raise ValueError("muster.%s: the report has more than %d bytes" % (kind, _limit))
    if _events is None:
        print("[muster] %s" % line, flush=True)
        return
    # One write with O_APPEND, so that lines of several threads and processes do not mix.
    file = os.open(_events, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, data)
    finally:
        os.close(file)


@contextlib.contextmanager
def step(name, metadata=None, step_id=None):
    """Reports a step of the run: running, then passed, or failed with the exception that left it."""
    key = uuid.uuid4().hex
    metadata, step_id = _require_dict("step: metadata", metadata), _require_text("step: step_id", step_id, 200)
    _append_report("step_started", key=key, name=str(name), metadata=metadata, stepId=step_id)
    token = _current.set(key)
    try:
        yield
    except BaseException as error:
        if isinstance(error, SystemExit) and not error.code:
            _append_report("step_finished", key=key, status="passed")
        else:
            text = "%s: %s" % (type(error).__name__, error)
            _append_report("step_finished", key=key, status="failed", error=text[:8192])
        raise
    else:
        _append_report("step_finished", key=key, status="passed", metadata=metadata)
    finally:
        _current.reset(token)


def log(level, message):
    _append_report("log", level=str(level), message=str(message))


def ai_usage(provider, model, input_tokens=0, output_tokens=0, cost_usd=None):
    """Reports the tokens that a language model used, in the open step or, if no step is open, in a step of its own.

    cost_usd is used only if the service has no price for the model."""
    usage = {
        "provider": _require_text("ai_usage: provider", str(provider), 100),
        "model": _require_text("ai_usage: model", str(model), 200),
        "inputTokens": _require_number("ai_usage: input_tokens", int(input_tokens), 2147483647),
        "outputTokens": _require_number("ai_usage: output_tokens", int(output_tokens), 2147483647),
    }
    if cost_usd is not None:
        usage["costUsd"] = _require_number("ai_usage: cost_usd", float(cost_usd), 1000000)
    _append_report("ai_usage", key=_current.get(), usage=usage)


def claim(claim_id, outcome, npi=None, message=None, metadata=None):
    if outcome not in _outcomes:
        raise ValueError("muster.claim: outcome must be one of %s" % ", ".join(_outcomes))
    row = {"claimId": _require_text("claim: claim_id", str(claim_id), 200), "outcome": outcome}
    optional = {
        "npi": _require_text("claim: npi", npi, 20),
        "message": _require_text("claim: message", message, 10000, 0),
        "metadata": _require_dict("claim: metadata", metadata, 500000),
    }
    row.update({name: value for name, value in optional.items() if value is not None})
    _append_report("claim", claim=row)


def screenshot(path):
    global _pictured
    _copy_for_upload(path, True)
    _pictured = os.path.abspath(path)


def artifact(path):
    _copy_for_upload(path, False)


def _copy_for_upload(path, is_screenshot):
    what = "screenshot" if is_screenshot else "artifact"
    name = _require_text("%s: the name of the file" % what, os.path.basename(os.fspath(path)), 255)
    if os.path.getsize(path) > 100 * 1024 * 1024:
        raise ValueError("muster.%s: %s has more than 100 MiB" % (what, name))
    if _events is None:
        _append_report("upload", filename=name, screenshot=is_screenshot)
        return
    # Copies the file now, because the script may change or remove it later.
    folder = os.path.join(_root, "uploads")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    copy = uuid.uuid4().hex
    shutil.copyfile(path, os.path.join(folder, copy))
    _append_report("upload", file=copy, filename=name, screenshot=is_screenshot)


def result(value):
    """Sets the run's result, which is any JSON value. The last call counts."""
    text = json.dumps(_to_json_value(value), ensure_ascii=False)
    if len(text.encode("utf-8", "replace")) > 256 * 1024:
        raise ValueError("muster.result: the value has more than 256 KiB of JSON")
    _append_report("result", value={"of": value})


def error_code(code):
    """Sets a machine-readable reason for the run's failure, in addition to its error. The last call counts."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", str(code)):
        raise ValueError("muster.error_code: code must be 1 to 64 lower-case letters, digits or _, first a letter")
    _append_report("error_code", code=str(code))


def account_failed(name, reason="other", message=None):
    """Reports that an account of the run cannot be used, so that no run gets it until an admin puts it back.

    name is the first part of the account's variables, such as PORTAL for PORTAL_USERNAME. reason is locked, expired or
    other."""
    if reason not in _account_failures:
        raise ValueError("muster.account_failed: reason must be one of %s" % ", ".join(_account_failures))
    message = _require_text("account_failed: message", message, 2000, 0)
    if _events is not None and name not in _accounts:
        raise ValueError("muster.account_failed: the run has no account %s" % name)
    _append_report("account_failed", name=str(name), pool=_accounts.get(name, str(name)), reason=reason, message=message)


def progress(percent, current_step=None):
    _append_report("progress", percent=float(percent), currentStep=current_step)


def _to_camel_case(row):
    def convert_name(key):
        head, *rest = str(key).split("_")
        return head + "".join(part[:1].upper() + part[1:] for part in rest)

    return {convert_name(key): value for key, value in dict(row).items()}


def _format_time(what, value):
    """Returns a time in the service's format. value is in seconds since 1970, a datetime or a text.

    A datetime without a time zone is in this machine's zone."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
    if isinstance(value, datetime.datetime):
        text = value.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")
    if value is not None and not (isinstance(value, str) and re.fullmatch(_time, value)):
        raise ValueError("muster.%s must be a time such as 2026-01-31T09:30:00Z, not %r" % (what, value))
    return value


def _build_summary_claim(given):
    row = _to_camel_case(given)
    if row.get("outcome") not in _outcomes:
        raise ValueError("muster.run_summary: a claim's outcome must be one of %s" % ", ".join(_outcomes))
    row["claimId"] = _require_text("run_summary: claim_id", row.get("claimId", ""), 200)
    row["npi"] = _require_text("run_summary: npi", row.get("npi"), 20)
    row["processingSeconds"] = _require_number("run_summary: processing_seconds", row.get("processingSeconds"), 7 * _day)
    row["message"] = _require_text("run_summary: message", row.get("message"), 10000, 0)
    _check_metadata_size("run_summary: the metadata of a claim", row, _claim_fields, 16 * 1024)
    return {name: value for name, value in row.items() if value is not None}


def _build_summary_stop(given):
    row = _to_camel_case(given)
    row["at"] = _format_time("run_summary: at", row.get("at", time.time()))
    row["reason"] = _require_text("run_summary: the reason of a stop", row.get("reason", ""), 500)
    detail = row.get("detail")
    if detail is not None and not isinstance(detail, str):
        detail = json.dumps(_to_json_value(detail))
    row["detail"] = _require_text("run_summary: the detail of a stop", detail, 10000, 0)
    _check_metadata_size("run_summary: the metadata of a stop", row, _stop_fields, 16 * 1024)
    return {name: value for name, value in row.items() if value is not None}


_claim_fields = ("claimId", "npi", "outcome", "processingSeconds", "message", "metadata")
_stop_fields = ("reason", "at", "detail", "metadata")
_batch_fields = ("batchId", "jobId", "workerKey", "startedAt", "finishedAt", "totals", "metadata")


def _check_metadata_size(what, row, known, most_bytes):
    """Checks the size of the metadata with the unknown fields, which the service stores as metadata too."""
    metadata = _require_dict(what, row.get("metadata")) or {}
    _require_dict(what, {**{name: value for name, value in row.items() if name not in known}, **metadata}, most_bytes)


def run_summary(batch_id=None, claims=None, stop_events=None, **summary):
    """Reports the outcome of a batch: its claims, why it stopped, and any further fields.

    Reporting a batch again with the same batch_id replaces its earlier summary. Without a batch_id, the summary is for
    the run's own batch. Each claim is a dict of claim_id and outcome, and of npi, processing_seconds and message if
    known. Each stop event is a dict of reason, and of at and detail if known. worker_key, started_at and finished_at
    describe the whole batch.
    """
    batch = _to_camel_case(summary)
    for name in ("startedAt", "finishedAt"):
        if name in batch:
            batch[name] = _format_time("run_summary: %s" % name, batch[name])
    if batch_id is not None:
        batch["batchId"] = str(batch_id)
    if batch.get("batchId") is not None:
        _require_text("run_summary: batch_id", str(batch["batchId"]).strip(), 200)
        batch["batchId"] = _require_text("run_summary: batch_id", batch["batchId"], 200)
    if batch.get("workerKey") is not None:
        batch["workerKey"] = _require_text("run_summary: worker_key", batch["workerKey"], 200)
    if batch.get("jobId") is not None:
        batch["jobId"] = str(uuid.UUID(str(batch["jobId"])))
    batch_bytes = 256 * 1024
    _require_dict("run_summary: totals", batch.get("totals"), batch_bytes)
    _check_metadata_size("run_summary: metadata", batch, _batch_fields, batch_bytes)
    rows = [_build_summary_claim(row) for row in claims or []]
    if len(rows) > 10000:
        raise ValueError("muster.run_summary: more than 10,000 claims")
    stops = [_build_summary_stop(row) for row in stop_events or []]
    if len(stops) > 10000:
        raise ValueError("muster.run_summary: more than 10,000 stop events")
    _append_report("run_summary", body={"batchSummary": batch, "claimResults": rows, "stopEvents": stops})
