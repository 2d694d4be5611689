# --- What a session's browser may use, and what nobody may see of it. ---


class Reports:
    """In place of the worker's module of a run: what is found is the answer's, and nobody asks for the rest."""

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
# Taken out of the environment: the browser and what a person wrote have no use for them.
SECRETS = {name: os.environ.pop(name) for name in GIVEN["secretNames"] if os.environ.get(name)}
NAME = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
HIDDEN = "[secret]"


def origin_of(url):
    """As a browser says it; None of what has none."""
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


ALLOWED = {origin_of(origin) for origin in GIVEN["allowedOrigins"]} - {None}


def is_allowed(url):
    return origin_of(url) in ALLOWED


class NoSuchName(Exception):
    pass


class OutOfBounds(Exception):
    """An address, or a place for a vault key's value, that is none of the task's."""


# How deep we are in what may type a vault key's value.
may_type = [0]


def fill(text):
    def value(match):
        name = match.group(1)
        if name in INPUTS:
            return INPUTS[name]
        if name in SECRETS:
            if not may_type[0]:
                raise OutOfBounds("the vault key %s is only ever typed into a page of the task" % name)
            return SECRETS[name]
        if name in RESULTS:
            return RESULTS[name] if isinstance(RESULTS[name], str) else json.dumps(RESULTS[name])
        raise NoSuchName("%s is neither an input nor a vault key of the session" % name)

    return NAME.sub(value, text)


def require_names(*texts):
    for text in texts:
        for name in NAME.findall(text):
            if name not in INPUTS and name not in SECRETS:
                raise NoSuchName("%s is neither an input nor a vault key of the session" % name[:100])


def names_secret(text):
    return any(name in SECRETS for name in NAME.findall(text))


def spellings(secret):
    quote = urllib.parse.quote
    forms = [secret, quote(secret, safe=""), quote(secret), quote(secret, safe="!'()*"), urllib.parse.quote_plus(secret)]
    forms.append(json.dumps(secret)[1:-1])
    lines = [line.strip() for line in secret.splitlines()]
    return [*forms, secret.strip(), *(line for line in lines if len(line) >= 8)]


def hiding():
    """One expression for all of them: spaces may stand within the longer ones, and no letter's case counts."""
    forms = sorted({form for secret in SECRETS.values() for form in spellings(secret)}, key=len, reverse=True)
    parts = []
    for form in forms:
        letters = [re.escape(each) for each in form if len(form) < 6 or not each.isspace()]
        if len(letters) >= 3:
            parts.append((r"\s*" if len(form) >= 6 else "").join(letters))
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


HIDING = hiding()
SHORT = {secret.strip() for secret in SECRETS.values() if len(secret.strip()) < 3}


def take_codes(codes):
    """Codes that a person gave for one attempt. Like vault keys they are only ever typed, and hidden from then on."""
    global HIDING, SHORT
    if not codes:
        return
    SECRETS.update({str(name): str(value) for name, value in codes.items()})
    HIDING = hiding()
    SHORT = {secret.strip() for secret in SECRETS.values() if len(secret.strip()) < 3}


def hide(text):
    """The text without any vault key's value."""
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
