# Continues muster.py: both files form the one module that a script imports.


class NotAnswered(Exception):
    """A question was not answered: its time is over (expired), or it was declined (cancelled)."""

    def __init__(self, status, reason=None):
        super().__init__(reason or ("nobody answered in time" if status == "expired" else "the question was %s" % status))
        self.status = status
        self.reason = reason


_nothing = object()
_kinds = ("code", "text", "choice", "confirm", "form")
_units = {"s": 1, "m": 60, "h": 3600, "d": _day}
_pictured = None


def _parse_seconds(timeout):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", str(timeout).strip())
    seconds = float(found.group(1)) * _units[found.group(2) or "s"] if found else 0
    if not 1 <= seconds <= 7 * _day:
        raise ValueError("muster.ask: timeout must be a duration such as 30s, 10m, 2h or 1d, from 1 s to 7 days")
    return int(seconds)


def _send_and_wait(request, seconds):
    """Writes a request to a file for the worker, and waits for the worker's answer file.

    With files the request survives the worker: the next worker finds it and answers it."""
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
    takeover=False,
):
    """Asks people a question and waits for the answer. What the script has open stays open.

    kind is code, text, choice (with choices), confirm or form (with fields: names, or dicts of name, label, type,
    choices, required). to names who may answer: "role:member", "user@practice.example". screenshot is a file, or True
    for the last one that was passed to muster.screenshot(). inbound names an address whose next code is the answer.
    With takeover, the people who may answer can also use the browser (see muster.browser) until they have answered.
    If nobody answers in time, it returns the default, or raises NotAnswered without one."""
    if kind not in _kinds:
        raise ValueError("muster.ask: kind must be one of %s" % ", ".join(_kinds))
    seconds = _parse_seconds(timeout)
    request = {
        "question": _require_text("ask: question", question, 2000),
        "kind": kind,
        "choices": [str(choice) for choice in choices] if choices else None,
        "fields": [_to_json_value(each) if isinstance(each, dict) else {"name": str(each)} for each in fields or []] or None,
        "to": [to] if isinstance(to, str) else [str(each) for each in to] if to else None,
        "timeoutSeconds": seconds,
        "context": _require_dict("ask: context", context, 65536),
        "inbound": str(inbound) if inbound else None,
    }
    if takeover:
        request["takeover"] = True
    if default is not _nothing:
        request["default"] = _to_json_value(default)
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
    answer = _send_and_wait(request, seconds + 60)
    if answer.get("status") == "answered":
        return answer.get("answer")
    if default is not _nothing:
        return default
    raise NotAnswered(answer.get("status") or "expired", answer.get("reason"))


_browser = None


def browser(url=None):
    """Returns the DevTools URL of a browser that people can watch, and use while the run asks with takeover.

    Without url, it is a headless Chromium that ends with the script; pass the URL to Playwright's connect_over_cdp, for
    example. With url, it is the browser that the script has started itself: ws://127.0.0.1:PORT/devtools/browser/ID."""
    global _browser
    if url is None and _browser is None:
        _browser = _start_browser()
    shown = url or _browser
    os.environ["MUSTER_CDP_URL"] = shown
    if _events is not None:
        draft = os.path.join(_root, ".browser-%s" % uuid.uuid4().hex)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            json.dump({"cdp": shown}, file)
        os.replace(draft, os.path.join(_root, "browser.json"))
    return shown


def _start_browser():
    import atexit
    import subprocess
    import tempfile

    program = os.environ.get("CHROMIUM")
    if not program:
        raise RuntimeError("muster.browser: there is no browser on this machine: install Chromium, or set CHROMIUM")
    profile = tempfile.mkdtemp(prefix="muster-browser-")
    flags = ["--headless=new", "--remote-debugging-port=0", "--user-data-dir=" + profile, "--no-first-run"]
    flags += ["--no-default-browser-check", "--disable-dev-shm-usage", "--disable-gpu", "--mute-audio"]
    flags += ["--window-size=1280,800"]
    # Chromium's sandbox refuses to work for root.
    flags += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([program, *flags, "about:blank"], **quiet)

    def end_browser():
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
        shutil.rmtree(profile, ignore_errors=True)

    atexit.register(end_browser)
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            with open(os.path.join(profile, "DevToolsActivePort"), encoding="ascii") as file:
                port, _, path = file.read().partition("\n")
            if port and path.strip():
                return "ws://127.0.0.1:%s%s" % (port, path.strip())
        except OSError:
            pass
        time.sleep(0.05)
    raise RuntimeError("muster.browser: the browser did not start")


def totp(key):
    """Returns the current code of a TOTP in the vault, as an authenticator app shows it. Only this run gets it."""
    if _events is None:
        raise NotAnswered("expired", "there is no vault outside of a run")
    answer = _send_and_wait({"totp": _require_text("totp: key", str(key), 128)}, _day)
    return str(answer.get("answer") or "")


if __name__ == "__main__":
    sys.exit("muster is a module: import it")
