# --- The inputs and secrets that a session may use, and the functions that hide the secrets. ---


class Reports:
    """Replaces the module `muster` of a run. Results become part of the command's answer; other reports are ignored."""

    def __init__(self):
        self.found = {}

    def result(self, value):
        if isinstance(value, dict):
            RESULTS.update(value)
            self.found.update(value)

    @contextlib.contextmanager
    def step(self, name, metadata=None, step_id=None):
        yield

    def log(self, level, message):
        pass

    def screenshot(self, path):
        pass

    def error_code(self, code):
        pass


muster = sys.modules["muster"] = Reports()

with open("open.json", encoding="utf-8") as given_file:
    GIVEN = json.load(given_file)
INPUTS = {name: str(value) for name, value in GIVEN["inputs"].items()}
# Removed from the environment, because the browser and code that a person wrote must not read them.
SECRETS = {name: os.environ.pop(name) for name in GIVEN["secretNames"] if os.environ.get(name)}
NAME = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
HIDDEN = "[secret]"


def get_origin(url):
    """Returns the origin in the format of browsers; None if the URL has no origin of http or https."""
    try:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return None
        host = "[%s]" % parts.hostname if ":" in parts.hostname else parts.hostname
        port = parts.port
    except ValueError:
        return None
    usual = {"http": 80, "https": 443}[parts.scheme]
    return "%s://%s%s" % (parts.scheme, host, "" if port in (None, usual) else ":%d" % port)


ALLOWED = {get_origin(origin) for origin in GIVEN["allowedOrigins"]} - {None}


def is_allowed(url):
    return get_origin(url) in ALLOWED


class NoSuchName(Exception):
    pass


class OutOfBounds(Exception):
    """The task does not allow this address, or the value of a vault key at this place."""


# Number of nested calls that may type the value of a vault key.
may_type = [0]


def fill(text):
    def resolve_name(match):
        name = match.group(1)
        if name in INPUTS:
            return INPUTS[name]
        if name in SECRETS:
            if not may_type[0]:
                raise OutOfBounds("the vault key %s can only be typed into a page of the task" % name)
            return SECRETS[name]
        if name in RESULTS:
            return RESULTS[name] if isinstance(RESULTS[name], str) else json.dumps(RESULTS[name])
        raise NoSuchName("%s is neither an input nor a vault key of the session" % name)

    return NAME.sub(resolve_name, text)


def require_names(*texts):
    for text in texts:
        for name in NAME.findall(text):
            if name not in INPUTS and name not in SECRETS:
                raise NoSuchName("%s is neither an input nor a vault key of the session" % name[:100])


def names_secret(text):
    return any(name in SECRETS for name in NAME.findall(text))


def list_spellings(secret):
    quote = urllib.parse.quote
    forms = [secret, quote(secret, safe=""), quote(secret), quote(secret, safe="!'()*"), urllib.parse.quote_plus(secret)]
    forms.append(json.dumps(secret)[1:-1])
    lines = [line.strip() for line in secret.splitlines()]
    return [*forms, secret.strip(), *(line for line in lines if len(line) >= 8)]


def build_hiding_pattern():
    """Returns a pattern that matches every secret, ignoring case, and long secrets also with spaces inside."""
    forms = sorted({form for secret in SECRETS.values() for form in list_spellings(secret)}, key=len, reverse=True)
    parts = []
    for form in forms:
        letters = [re.escape(each) for each in form if len(form) < 6 or not each.isspace()]
        if len(letters) >= 3:
            parts.append((r"\s*" if len(form) >= 6 else "").join(letters))
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


HIDING = build_hiding_pattern()
SHORT = {secret.strip() for secret in SECRETS.values() if len(secret.strip()) < 3}


def take_codes(codes):
    """Adds codes that a person entered for one attempt. Like vault keys, they are only typed, and always hidden."""
    global HIDING, SHORT
    if not codes:
        return
    SECRETS.update({str(name): str(value) for name, value in codes.items()})
    HIDING = build_hiding_pattern()
    SHORT = {secret.strip() for secret in SECRETS.values() if len(secret.strip()) < 3}


def hide(text):
    """Returns the text with the values of vault keys replaced."""
    if text.strip() in SHORT and text.strip():
        return HIDDEN
    return HIDING.sub(HIDDEN, text) if HIDING else text


def hide_deep(value):
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {hide(str(name)): hide_deep(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [hide_deep(each) for each in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if value is None or isinstance(value, (bool, int, float)):
        return value if isinstance(value, bool) or hide(str(value)) == str(value) else HIDDEN
    return hide(str(value))
