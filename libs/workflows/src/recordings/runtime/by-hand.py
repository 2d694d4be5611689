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
