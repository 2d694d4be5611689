# --- An attempt at a step: actions, or code, one after the other, and what was expected of them. ---

FIND_TIMEOUT = 10
SETTLE_TIMEOUT = 30
MAX_EXTRACTED = 200000
READABLE = {"href", "src", "value", "title", "alt"}


class Attempt:
    def __init__(self, browser, asked, journal):
        self.browser = browser
        self.asked = asked
        self.journal = journal
        self.may_submit = bool(asked["maySubmit"])
        self.submitted = False
        self.at = asked.get("from") or 0
        self.done = []
        self.steps = []
        muster.found = {}

    def note(self, **what):
        """On disk before what it says happens."""
        with open(self.journal, "a", encoding="utf-8") as file:
            file.write(json.dumps({"at": self.at, **what}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def run(self):
        outcome, why, error = self.outcome()
        if self.submitted:
            self.note(submit="done")
        return {
            "outcome": outcome,
            "error": error and hide(error)[:4000],
            "why": why,
            "at": self.at,
            "submitted": self.submitted,
            "done": self.done,
            "steps": hide_deep(self.steps),
            "extracted": bounded(hide_deep(muster.found)),
        }

    def outcome(self):
        """(outcome, why, error)"""
        try:
            if self.asked.get("code") is not None:
                self.run_code(self.asked["code"])
            else:
                self.run_actions(self.asked.get("actions") or [])
            expect(self.browser.page(), **expectation(self.asked.get("expect")))
            return "passed", None, None
        except WouldSubmit:
            return "would_submit", None, None
        except AttemptOver as error:
            return "failed", "page", str(error)
        except (EndOfBrowser, Over):
            raise
        except NothingFits as error:
            return "failed", "selector", str(error)
        except NoSuchName as error:
            return "failed", "name", str(error)
        except OutOfBounds as error:
            return "failed", "address", str(error)
        except UnmetExpectation as error:
            return "failed", "expect", str(error)
        except CodeFailed as error:
            return "failed", "code", str(error)
        except Exception as error:
            return "failed", "page", "%s: %s" % (type(error).__name__, error)

    # Actions.

    def run_actions(self, actions):
        # All names first: with one that is wrong, nothing is done.
        for action in actions:
            require_names(action["value"], *(each["selector"] for each in action["selectors"]))
            if any(names_secret(each["selector"]) for each in action["selectors"]):
                raise OutOfBounds("a vault key is not for a selector")
        while self.at < len(actions):
            self.note()
            self.run_action(actions[self.at])
            self.at += 1

    def run_action(self, action):
        page = self.browser.page()
        before, page.held = len(self.browser.blocked), False
        page.holds_posts = not self.may_submit and not page.evaluate(PASSWORD_FIELD)
        try:
            if action["action"] in ("navigate", "wait") and not action["selectors"]:
                step = getattr(self, "do_" + action["action"])(page, action)
            else:
                step = self.with_element(page, action)
        finally:
            page.holds_posts = False
        if page.held:
            raise WouldSubmit()
        self.browser.require_unblocked(before)
        target = {} if self.browser.is_first(page) else {"target": generalised(hide(page.address()))[0]}
        self.steps.append({**step, **target, **({"submits": True} if action["submits"] else {})})

    def do_navigate(self, page, action):
        url = urllib.parse.urljoin(page.address(), action["value"])
        if names_secret(url):
            raise OutOfBounds("a vault key is not for an address")
        self.announce(action)
        page.navigate(url)
        self.done.append({"at": self.at, "name": action["name"], "candidates": []})
        return {"type": "navigate", "url": url}

    def do_wait(self, page, action):
        milliseconds = min(30000, max(0, int(re.sub(r"\D.*", "", action["value"].strip()) or 0)))
        self.browser.rest(milliseconds / 1000)
        self.done.append({"at": self.at, "name": action["name"], "candidates": []})
        return {"type": "wait", "ms": milliseconds}

    def with_element(self, page, action):
        kind = action["action"]
        given = action["selectors"]
        if kind == "press" and not given:
            self.announce(action)
            press(page, action["value"])
            self.settle(page)
            self.done.append({"at": self.at, "name": action["name"], "candidates": []})
            return {"type": "press", "key": action["value"]}
        frame, element, selector = locate(page, [each["selector"] for each in given], FIND_TIMEOUT)
        candidates = candidates_of(page, frame, element, given)
        used = [selector]
        self.announce(action)
        step = getattr(self, "on_" + kind)(page, action, used, frame)
        self.done.append({"at": self.at, "name": action["name"], "candidates": candidates})
        kept = [each["selector"] for each in candidates if each["uniqueNow"]][:4] or [generalised(selector)[0]]
        return {**step, "selectors": kept, **({"frame": list(frame)} if frame else {})}

    def announce(self, action):
        if action["submits"]:
            self.browser.about_to_submit()

    def settle(self, page):
        with page.settled(SETTLE_TIMEOUT):
            pass

    def on_click(self, page, action, selectors, frame):
        with page.settled(SETTLE_TIMEOUT):
            page.click(selectors, frame=frame, timeout=FIND_TIMEOUT)
        return {"type": "click"}

    def on_fill(self, page, action, selectors, frame):
        with page.settled(SETTLE_TIMEOUT):
            fill_in(page, selectors, action["value"], frame, FIND_TIMEOUT)
        return {"type": "change", "value": action["value"]}

    def on_select(self, page, action, selectors, frame):
        with page.settled(SETTLE_TIMEOUT):
            choose(page, selectors, action["value"], frame, FIND_TIMEOUT)
        return {"type": "select", "value": action["value"]}

    def on_check(self, page, action, selectors, frame):
        value = action["value"].strip() or "true"
        with page.settled(SETTLE_TIMEOUT):
            fill_in(page, selectors, value, frame, FIND_TIMEOUT)
        return {"type": "change", "value": value}

    def on_press(self, page, action, selectors, frame):
        with page.settled(SETTLE_TIMEOUT):
            press(page, action["value"], selectors, frame, FIND_TIMEOUT)
        return {"type": "press", "key": action["value"]}

    def on_wait(self, page, action, selectors, frame):
        return {"type": "waitForElement"}

    def on_extract(self, page, action, selectors, frame):
        value = action["value"].strip()
        attribute = value if value in READABLE or value.startswith(("data-", "aria-")) else None
        read = extract_all if action["all"] else extract
        read(page, selectors, action["name"], attribute, frame, FIND_TIMEOUT)
        more = {"attribute": attribute} if attribute else {}
        return {"type": "extract", "as": action["name"], **more, **({"all": True} if action["all"] else {})}

    # Code.

    def run_code(self, code):
        """Statement by statement, so that what stopped before a submit can go on there."""
        try:
            code = textwrap.dedent(code)
            body = ast.parse(code, PLACE).body
        except SyntaxError as error:
            raise CodeFailed("the code cannot be read: line %s: %s" % (error.lineno, error.msg)) from None
        linecache.cache[PLACE] = (len(code), None, code.splitlines(True), PLACE)
        if not self.at:
            CODE_NAMES.clear()
            CODE_NAMES.update(FOR_CODE, browser=self.browser)
        CODE_NAMES["page"] = self.browser.page()
        announced = False
        while self.at < len(body):
            self.note()
            was_announced, said = announced, self.submitted
            page, blocked = self.browser.page(), len(self.browser.blocked)
            page.held = False
            page.holds_posts = not self.may_submit and not page.evaluate(PASSWORD_FIELD)
            try:
                exec(compile(ast.Module([body[self.at]], []), PLACE, "exec"), CODE_NAMES)
                if isinstance(body[self.at], (ast.Expr, ast.With)):
                    self.settle(self.browser.page())
            except (NoSuchName, OutOfBounds, UnmetExpectation, EndOfBrowser, Over):
                self.browser.require_unblocked(blocked)
                raise
            except Exception as error:
                self.browser.require_unblocked(blocked)
                # What was announced had nothing to happen to.
                if was_announced and isinstance(error, TimeoutError) and str(error).startswith("nothing fits"):
                    self.submitted = False
                raise CodeFailed(told_error(error)) from None
            except SystemExit as error:
                raise CodeFailed("the code ended: %s" % error) from None
            finally:
                page.holds_posts = False
            if page.held:
                raise WouldSubmit()
            self.browser.require_unblocked(blocked)
            announced = self.submitted and not said
            self.at += 1


PLACE = "<step>"
CODE_NAMES = {}
# What stable code is made of, and what people write beside it.
FOR_CODE = {
    **{each.__name__: each for each in (expect, extract, extract_all, press, scroll_to, submits, upload)},
    **{"fill_in": fill_in, "choose": choose, "muster": muster, "results": RESULTS},
    **{"json": json, "re": re, "time": time, "__name__": "__main__"},
}


class CodeFailed(Exception):
    pass


def meant(error):
    """A name that the code has not: the nearest one that it has."""
    found = re.search(r"^name '(\w+)' is not defined", str(error)) if isinstance(error, NameError) else None
    if not found:
        return ""
    name = found.group(1)
    if name in STEP_NAMES:
        return "; use page.%s" % name
    return nearest(name, sorted({"page", "browser", *(each for each in FOR_CODE if not each.startswith("__"))}))


def told_error(error):
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == PLACE]
    return "%s%s: %s" % ("line %d: " % lines[-1] if lines else "", type(error).__name__, "%s%s" % (error, meant(error)))


def expectation(given):
    given = given or {}
    return {
        "url": given.get("url"),
        "text": given.get("text"),
        "not_text": given.get("notText"),
        "selector": given.get("selector"),
    }


def bounded(extracted):
    if len(json.dumps(extracted)) <= MAX_EXTRACTED:
        return extracted
    return {name: json.dumps(value)[: MAX_EXTRACTED // max(1, len(extracted))] for name, value in extracted.items()}
