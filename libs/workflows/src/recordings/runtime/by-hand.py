# --- What people write beside what the recorder records. ---

CHOOSE = """function (value) {
  if (!(this instanceof HTMLSelectElement)) return null;
  const words = (text) => text.replace(/\\s+/g, ' ').trim();
  const options = [...this.options];
  const chosen = options.find((each) => each.value === value) || options.find((each) => words(each.text) === words(value));
  if (!chosen || chosen.disabled) return false;
  Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'selectedIndex').set.call(this, chosen.index);
  for (const name of ['input', 'change']) this.dispatchEvent(new Event(name, { bubbles: true }));
  return true;
}"""

TICK = """function (value) {
  const box = this instanceof HTMLLabelElement ? this.control : this;
  if (!(box instanceof HTMLInputElement) || !['checkbox', 'radio'].includes(box.type)) return null;
  const wanted = { true: true, on: true, yes: true, false: false, off: false, no: false }[value.toLowerCase()];
  if (wanted === undefined) return false;
  if (box.checked !== wanted) box.click();
  return box.checked === wanted;
}"""

READ = """function (attribute) {
  if (attribute) return this.getAttribute(attribute);
  if (this instanceof HTMLInputElement && ['checkbox', 'radio'].includes(this.type)) return this.checked;
  if (this instanceof HTMLInputElement || this instanceof HTMLTextAreaElement) return this.value;
  if (this instanceof HTMLSelectElement) return [...this.selectedOptions].map((each) => each.text.trim()).join(', ');
  return (this.innerText === undefined ? this.textContent : this.innerText).trim();
}"""


def fill_in(page, selectors, value, frame=(), timeout=30):
    ticked = page.on(page.find(selectors, frame, timeout), TICK, fill(value))
    if ticked is False:
        raise ValueError("a box is true or false, and cannot be %r" % fill(value))
    if ticked is None:
        choose(page, selectors, value, frame, timeout)


def choose(page, selectors, value, frame=(), timeout=30):
    """By the value of the choice, or by what people read of it; choices may still be on their way."""
    element = page.find(selectors, frame, timeout)
    if page.on(element, "function () { return !(this instanceof HTMLSelectElement); }"):
        return page.change(selectors, value, frame, timeout)
    if not page.until(lambda: page.on(page.find(selectors, frame, timeout), CHOOSE, fill(value)), timeout):
        raise ValueError("there is no choice %r" % fill(value))


def press(page, key, selectors=None, frame=(), timeout=30):
    """One key, or several with a plus between them; where an element is named, into that one."""
    if selectors:
        page.on(page.find(selectors, frame, timeout), "function () { this.focus(); }")
    key = fill(key)
    names = {"ctrl": "Control", "cmd": "Meta", "command": "Meta", "option": "Alt", "return": "Enter", "esc": "Escape"}
    names.update({each.lower(): each for each in [*MODIFIERS, *KEY_CODES]})
    names["space"] = " "
    parts = [key] if len(key) == 1 or key == " " else [part.strip() for part in re.split(r"(?<=.)\+(?=.)", key)]
    keys = [names.get(part.lower(), part) if len(part) > 1 else part for part in parts]
    wrong = [each for each in keys if len(each) > 1 and each not in KEY_CODES]
    if wrong:
        raise ValueError("there is no key %s" % wrong[0])
    for each in keys:
        page.key("keyDown", each)
    for each in reversed(keys):
        page.key("keyUp", each)


def scroll_to(page, selectors, frame=(), timeout=30):
    page.call("DOM.scrollIntoViewIfNeeded", {"objectId": page.find(selectors, frame, timeout, visible=False)})


def upload(page, selectors, path, frame=(), timeout=30):
    """A file of the run root, and no other."""
    root = os.path.realpath(os.environ.get("MUSTER_RUN_ROOT") or ".")
    whole = os.path.realpath(os.path.join(root, fill(path)))
    if not whole.startswith(root + os.sep):
        raise ValueError("%s leads out of the run root" % fill(path))
    if not os.path.isfile(whole):
        raise FileNotFoundError("there is no file %s in the run root" % fill(path))
    element = page.find(selectors, frame, timeout, visible=False)
    page.call("DOM.setFileInputFiles", {"objectId": element, "files": [whole]})


def extract(page, selectors, name, attribute=None, frame=(), timeout=30):
    """Into the run's result, and for {{name}} in what comes later."""
    muster.result({name: page.on(page.find(selectors, frame, timeout), READ, attribute)})


def extract_all(page, selectors, name, attribute=None, frame=(), timeout=30):
    """All that the first selector finds, once it finds any."""
    page.find(selectors, frame, timeout, visible=False)
    muster.result({name: [page.on(each, READ, attribute) for each in page.matching(selectors, frame)]})


class ByName:
    """The steps of a workflow by their names, for Python that people write: page.goto(url), page.fill(selector, value)."""

    def goto(self, url, timeout=30):
        self.navigate(url, timeout)

    def fill(self, selectors, value, frame=(), timeout=30):
        fill_in(self, selectors, value, frame, timeout)

    def type(self, selectors, value, frame=(), timeout=30):
        fill_in(self, selectors, value, frame, timeout)

    def select(self, selectors, value, frame=(), timeout=30):
        choose(self, selectors, value, frame, timeout)

    def check(self, selectors, value="true", frame=(), timeout=30):
        fill_in(self, selectors, value, frame, timeout)

    def press(self, key, selectors=None, frame=(), timeout=30):
        press(self, key, selectors, frame, timeout)

    def upload(self, selectors, path, frame=(), timeout=30):
        upload(self, selectors, path, frame, timeout)

    def extract(self, selectors, name, attribute=None, frame=(), timeout=30):
        extract(self, selectors, name, attribute, frame, timeout)

    def wait(self, ms):
        self.browser.rest(ms / 1000)

    def waitForElement(self, selectors, **more):
        self.wait_for_element(selectors, **more)

    def waitForExpression(self, expression, frame=(), timeout=30):
        self.wait_for_expression(expression, frame, timeout)

    def __getattr__(self, name):
        raise AttributeError("page has no %s%s" % (name, nearest(name, STEP_NAMES)))


STEP_NAMES = ["goto", "click", "fill", "type", "select", "check", "press", "hover", "scroll", "upload", "extract"]
STEP_NAMES += ["wait", "wait_for_element", "wait_for_expression", "screenshot"]
for step_name, do_step in vars(ByName).items():
    if callable(do_step):
        setattr(Page, step_name, do_step)


def nearest(name, names):
    """What somebody may have meant who wrote a name that is not there."""
    close = difflib.get_close_matches(name.lower(), names, 1, 0.55)
    return ("; did you mean %s? It has " % close[0] if close else "; it has ") + ", ".join(names)


def submits(page):
    """What comes next sends something for good: whoever keeps a browser open wants to know before."""


def take_picture(page, name):
    path = (re.sub(r"[^A-Za-z0-9_.-]+", "_", fill(name)).strip("._")[:100] or "screenshot") + ".png"
    page.screenshot(path)
    muster.screenshot(path)


def unsupported(kind):
    # A worker may be older than its service.
    getattr(muster, "error_code", lambda code: None)("unsupported_step")
    raise NotImplementedError("a run cannot do a step of the type %s" % kind)


def ask_people(browser, question, name, **given):
    """Asks people, with a picture of the page, and gives the answer that name for {{name}} in what comes later."""
    page = browser.shown()
    if page:
        path = "asked-%s.png" % re.sub(r"[^A-Za-z0-9_-]", "_", name)
        page.screenshot(path)
        given["screenshot"] = path
    answer = muster.ask(fill(question), **given)
    RESULTS[name] = answer
    # A code is for the page that asks for it; what else people say is of the run's result.
    if given.get("kind") != "code":
        muster.result({name: answer})


def lacking(what):
    raise ValueError("the step says no %s" % what)


NAMES = {"__name__": "__main__", "muster": muster}


def do_python(browser, code, step_id):
    """Its names are there in the next one too; browser.page() is the page, and results is what was found so far."""
    NAMES.update(browser=browser, results=RESULTS)
    code = textwrap.dedent(code)
    place = "<step %s>" % step_id
    # What went wrong is shown with its line.
    linecache.cache[place] = (len(code), None, code.splitlines(True), place)
    exec(compile(code, place, "exec"), NAMES)


def adding_up(give):
    """Each result that has names adds to the one before, whichever step gives it."""

    def result(value):
        if isinstance(value, dict):
            RESULTS.update(value)
            value = RESULTS
        give(value)

    return result


muster.result = adding_up(muster.result)
