# --- An attempt at a step: runs actions or code one after the other, and then checks the expectation. ---

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

    def write_journal(self, **what):
        """Writes an entry to disk before the action that it describes happens."""
        with open(self.journal, "a", encoding="utf-8") as file:
            file.write(json.dumps({"at": self.at, **what}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def run(self):
        outcome, why, error = self.run_and_judge()
        if self.submitted:
            self.write_journal(submit="done")
        return {
            "outcome": outcome,
            "error": error and hide(error)[:4000],
            "why": why,
            "at": self.at,
            "submitted": self.submitted,
            "done": self.done,
            "steps": hide_deep(self.steps),
            "extracted": limit_size(hide_deep(muster.found)),
        }

    def run_and_judge(self):
        """Runs the attempt and returns (outcome, why, error)."""
        try:
            if self.asked.get("code") is not None:
                self.run_code(self.asked["code"])
            else:
                self.run_actions(self.asked.get("actions") or [])
            expect(self.browser.page(), **to_expect_arguments(self.asked.get("expect")))
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
        # Checks all names first, so that no action runs if a name is wrong.
        for action in actions:
            require_names(action["value"], *(each["selector"] for each in action["selectors"]))
            if any(names_secret(each["selector"]) for each in action["selectors"]):
                raise OutOfBounds("a selector must not contain a vault key")
        while self.at < len(actions):
            self.write_journal()
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
                step = self.run_on_element(page, action)
        finally:
            page.holds_posts = False
        if page.held:
            raise WouldSubmit()
        self.browser.require_unblocked(before)
        target = {} if self.browser.is_first_tab(page) else {"target": generalize_selector(hide(page.get_address()))[0]}
        self.steps.append({**step, **target, **({"submits": True} if action["submits"] else {})})

    def do_navigate(self, page, action):
        url = urllib.parse.urljoin(page.get_address(), action["value"])
        if names_secret(url):
            raise OutOfBounds("an address must not contain a vault key")
        self.announce_submission(action)
        page.navigate(url)
        self.done.append({"at": self.at, "name": action["name"], "candidates": []})
        return {"type": "navigate", "url": url}

    def do_wait(self, page, action):
        milliseconds = min(30000, max(0, int(re.sub(r"\D.*", "", action["value"].strip()) or 0)))
        self.browser.rest(milliseconds / 1000)
        self.done.append({"at": self.at, "name": action["name"], "candidates": []})
        return {"type": "wait", "ms": milliseconds}

    def run_on_element(self, page, action):
        kind = action["action"]
        given = action["selectors"]
        if kind == "press" and not given:
            self.announce_submission(action)
            press(page, action["value"])
            self.wait_until_settled(page)
            self.done.append({"at": self.at, "name": action["name"], "candidates": []})
            return {"type": "press", "key": action["value"]}
        frame, element, selector = locate_element(page, [each["selector"] for each in given], FIND_TIMEOUT)
        candidates = list_candidates(page, frame, element, given)
        used = [selector]
        self.announce_submission(action)
        step = getattr(self, "on_" + kind)(page, action, used, frame)
        self.done.append({"at": self.at, "name": action["name"], "candidates": candidates})
        kept = [each["selector"] for each in candidates if each["uniqueNow"]][:4] or [generalize_selector(selector)[0]]
        return {**step, "selectors": kept, **({"frame": list(frame)} if frame else {})}

    def announce_submission(self, action):
        if action["submits"]:
            self.browser.about_to_submit()

    def wait_until_settled(self, page):
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
        """Runs the code statement by statement, so that code that stopped before a submission can continue there."""
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
            self.write_journal()
            was_announced, said = announced, self.submitted
            page, blocked = self.browser.page(), len(self.browser.blocked)
            page.held = False
            page.holds_posts = not self.may_submit and not page.evaluate(PASSWORD_FIELD)
            try:
                exec(compile(ast.Module([body[self.at]], []), PLACE, "exec"), CODE_NAMES)
                if isinstance(body[self.at], (ast.Expr, ast.With)):
                    self.wait_until_settled(self.browser.page())
            except (NoSuchName, OutOfBounds, UnmetExpectation, EndOfBrowser, Over):
                self.browser.require_unblocked(blocked)
                raise
            except Exception as error:
                self.browser.require_unblocked(blocked)
                # The submission was announced but did not happen, because its element was not found.
                if was_announced and isinstance(error, TimeoutError) and str(error).startswith("no element matches"):
                    self.submitted = False
                raise CodeFailed(format_code_error(error)) from None
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
# Names that learned code uses, and names for code that people write.
FOR_CODE = {
    **{each.__name__: each for each in (expect, extract, extract_all, press, scroll_to, submits, upload)},
    **{"fill_in": fill_in, "choose": choose, "muster": muster, "results": RESULTS},
    **{"json": json, "re": re, "time": time, "__name__": "__main__"},
}


class CodeFailed(Exception):
    pass


def suggest_name(error):
    """Returns a hint with the most similar defined name, for an error about an undefined name."""
    found = re.search(r"^name '(\w+)' is not defined", str(error)) if isinstance(error, NameError) else None
    if not found:
        return ""
    name = found.group(1)
    if name in STEP_NAMES:
        return "; use page.%s" % name
    names = {"page", "browser", *(each for each in FOR_CODE if not each.startswith("__"))}
    return describe_nearest(name, sorted(names))


def format_code_error(error):
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == PLACE]
    line = "line %d: " % lines[-1] if lines else ""
    return "%s%s: %s%s" % (line, type(error).__name__, error, suggest_name(error))


def to_expect_arguments(given):
    given = given or {}
    return {
        "url": given.get("url"),
        "text": given.get("text"),
        "not_text": given.get("notText"),
        "selector": given.get("selector"),
    }


def limit_size(extracted):
    if len(json.dumps(extracted)) <= MAX_EXTRACTED:
        return extracted
    return {name: json.dumps(value)[: MAX_EXTRACTED // max(1, len(extracted))] for name, value in extracted.items()}
