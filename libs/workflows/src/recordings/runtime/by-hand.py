# --- Step types that people write in addition to those of the recorder. ---

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
    ticked = page.call_function(page.find_element(selectors, frame, timeout), TICK, fill(value))
    if ticked is False:
        raise ValueError("a checkbox is true or false, and cannot be %r" % fill(value))
    if ticked is None:
        choose(page, selectors, value, frame, timeout)


def choose(page, selectors, value, frame=(), timeout=30):
    """Selects the choice with this value or this visible text. Waits for it, because a page may add choices later."""
    element = page.find_element(selectors, frame, timeout)
    if page.call_function(element, "function () { return !(this instanceof HTMLSelectElement); }"):
        return page.change(selectors, value, frame, timeout)

    def has_chosen():
        return page.call_function(page.find_element(selectors, frame, timeout), CHOOSE, fill(value))

    if not page.wait_until(has_chosen, timeout):
        raise ValueError("there is no choice %r" % fill(value))


def press(page, key, selectors=None, frame=(), timeout=30):
    """Presses one key, or several keys joined with a plus. If there are selectors, focuses their element first."""
    if selectors:
        page.call_function(page.find_element(selectors, frame, timeout), "function () { this.focus(); }")
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
        page.send_key_event("keyDown", each)
    for each in reversed(keys):
        page.send_key_event("keyUp", each)


def scroll_to(page, selectors, frame=(), timeout=30):
    page.call("DOM.scrollIntoViewIfNeeded", {"objectId": page.find_element(selectors, frame, timeout, visible=False)})


def upload(page, selectors, path, frame=(), timeout=30):
    """Sets the file of a file input. Only files of the run root are allowed."""
    root = os.path.realpath(os.environ.get("MUSTER_RUN_ROOT") or ".")
    whole = os.path.realpath(os.path.join(root, fill(path)))
    if not whole.startswith(root + os.sep):
        raise ValueError("%s is outside of the run root" % fill(path))
    if not os.path.isfile(whole):
        raise FileNotFoundError("there is no file %s in the run root" % fill(path))
    element = page.find_element(selectors, frame, timeout, visible=False)
    page.call("DOM.setFileInputFiles", {"objectId": element, "files": [whole]})


def extract(page, selectors, name, attribute=None, frame=(), timeout=30):
    """Adds the element's text to the run's result. Later steps can use it as {{name}}."""
    muster.result({name: page.call_function(page.find_element(selectors, frame, timeout), READ, attribute)})


def extract_all(page, selectors, name, attribute=None, frame=(), timeout=30):
    """Adds a list with the text of all elements of the first selector that matches. Waits until one matches."""
    page.find_element(selectors, frame, timeout, visible=False)
    muster.result({name: [page.call_function(each, READ, attribute) for each in page.find_matching(selectors, frame)]})


class ByName:
    """Methods named like the step types, for Python that people write: page.goto(url), page.fill(selector, value)."""

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
        raise AttributeError("page has no %s%s" % (name, describe_nearest(name, STEP_NAMES)))


STEP_NAMES = ["goto", "click", "fill", "type", "select", "check", "press", "hover", "scroll", "upload", "extract"]
STEP_NAMES += ["wait", "wait_for_element", "wait_for_expression", "screenshot"]
for step_name, do_step in vars(ByName).items():
    if callable(do_step):
        setattr(Page, step_name, do_step)


def describe_nearest(name, names):
    """Returns a hint with the most similar valid name, for an error about an unknown name."""
    close = difflib.get_close_matches(name.lower(), names, 1, 0.55)
    return ("; did you mean %s? It has " % close[0] if close else "; it has ") + ", ".join(names)


def submits(page):
    """Announces that the next statement submits data. A session overrides this, because it may have to pause first."""


def take_picture(page, name):
    path = (re.sub(r"[^A-Za-z0-9_.-]+", "_", fill(name)).strip("._")[:100] or "screenshot") + ".png"
    page.screenshot(path)
    muster.screenshot(path)


def raise_unsupported(kind):
    # A worker of an older version has no error_code.
    getattr(muster, "error_code", lambda code: None)("unsupported_step")
    raise NotImplementedError("a run cannot do a step of the type %s" % kind)


def ask_people(browser, question, name, **given):
    """Asks people, with a screenshot of the page. Later steps can use the answer as {{name}}."""
    page = browser.get_shown_page()
    if page:
        path = "asked-%s.png" % re.sub(r"[^A-Za-z0-9_-]", "_", name)
        page.screenshot(path)
        given["screenshot"] = path
    answer = muster.ask(fill(question), **given)
    RESULTS[name] = answer
    # A code is only for the page that requires it. Other answers become part of the run's result.
    if given.get("kind") != "code":
        muster.result({name: answer})


def raise_missing_field(what):
    raise ValueError("the step has no %s" % what)


NAMES = {"__name__": "__main__", "muster": muster}


def do_python(browser, code, step_id):
    """Runs Python code that a person wrote. Its variables remain for the next Python step. `browser.page()` is the
    page, and `results` contains the results so far."""
    NAMES.update(browser=browser, results=RESULTS)
    code = textwrap.dedent(code)
    place = "<step %s>" % step_id
    # With this entry, a traceback shows the line of the error.
    linecache.cache[place] = (len(code), None, code.splitlines(True), place)
    exec(compile(code, place, "exec"), NAMES)


def merge_results_into(report_result):
    """Returns a muster.result that merges each dict into the results so far. The plain one would replace them."""

    def result(value):
        if isinstance(value, dict):
            RESULTS.update(value)
            value = RESULTS
        report_result(value)

    return result


muster.result = merge_results_into(muster.result)
