# Goes on where muster.py ends: both are the one module that a script imports.


class NotAnswered(Exception):
    """Nobody answered a question: its time was over (expired), or somebody declined it (cancelled)."""

    def __init__(self, status, reason=None):
        super().__init__(reason or ("nobody answered in time" if status == "expired" else "the question was %s" % status))
        self.status = status
        self.reason = reason


_nothing = object()
_kinds = ("code", "text", "choice", "confirm", "form")
_units = {"s": 1, "m": 60, "h": 3600, "d": _day}
_pictured = None


def _seconds(timeout):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", str(timeout).strip())
    seconds = float(found.group(1)) * _units[found.group(2) or "s"] if found else 0
    if not 1 <= seconds <= 7 * _day:
        raise ValueError("muster.ask: a timeout is 30s, 10m, 2h or 1d, at least 1 s and at most 7 days")
    return int(seconds)


def _exchange(request, seconds):
    """Puts a request where the worker finds it, and waits for what the worker puts beside it.

    By files, so that it outlives the worker: another one goes on with what it finds."""
    key = uuid.uuid4().hex
    folder = os.path.join(_root, "asks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    draft = os.path.join(folder, "." + key)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
        json.dump(request, file)
    os.replace(draft, os.path.join(folder, key + ".json"))
    answered = os.path.join(_root, "answers", key + ".json")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with open(answered, encoding="utf-8") as file:
                answer = json.load(file)
        except FileNotFoundError:
            time.sleep(0.05)
            continue
        if answer.get("error"):
            raise ValueError("muster: %s" % answer["error"])
        return answer
    return {"status": "expired"}


def ask(
    question,
    kind="text",
    choices=None,
    fields=None,
    to=None,
    timeout="10m",
    default=_nothing,
    screenshot=True,
    context=None,
    inbound=None,
):
    """Asks people something and waits for the answer, with whatever the script has open.

    kind is code, text, choice (with choices), confirm or form (with fields: names, or dicts of name, label, type,
    choices, required). to names who may answer: "role:member", "user@practice.example". screenshot is a file, or True
    for the last one that muster.screenshot() was given. inbound names an address whose next code is the answer. Where nobody answers in time: the default, or NotAnswered."""
    if kind not in _kinds:
        raise ValueError("muster.ask: the kind is one of %s" % ", ".join(_kinds))
    seconds = _seconds(timeout)
    request = {
        "question": _text("ask: question", question, 2000),
        "kind": kind,
        "choices": [str(choice) for choice in choices] if choices else None,
        "fields": [_plain(each) if isinstance(each, dict) else {"name": str(each)} for each in fields or []] or None,
        "to": [to] if isinstance(to, str) else [str(each) for each in to] if to else None,
        "timeoutSeconds": seconds,
        "context": _object("ask: context", context, 65536),
        "inbound": str(inbound) if inbound else None,
    }
    if default is not _nothing:
        request["default"] = _plain(default)
    request = {name: value for name, value in request.items() if value is not None}
    if _events is None:
        print("[muster] %s" % json.dumps({"type": "ask", **request}), flush=True)
        if sys.stdin is not None and sys.stdin.isatty():
            return input("%s " % question)
        if default is not _nothing:
            return default
        raise NotAnswered("expired", "nobody can answer outside of a run")
    picture = _pictured if screenshot is True else screenshot
    if picture and os.path.isfile(picture):
        folder = os.path.join(_root, "uploads")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        request["screenshotFile"] = uuid.uuid4().hex
        shutil.copyfile(picture, os.path.join(folder, request["screenshotFile"]))
    answer = _exchange(request, seconds + 60)
    if answer.get("status") == "answered":
        return answer.get("answer")
    if default is not _nothing:
        return default
    raise NotAnswered(answer.get("status") or "expired", answer.get("reason"))


def totp(key):
    """The code of this moment of a TOTP of the vault, such as an authenticator app shows it; for this run alone."""
    if _events is None:
        raise NotAnswered("expired", "there is no vault outside of a run")
    answer = _exchange({"totp": _text("totp: key", str(key), 128)}, _day)
    return str(answer.get("answer") or "")


if __name__ == "__main__":
    sys.exit("muster is a module: import it")
