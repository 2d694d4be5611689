# --- Expectations of a step: all that are specified must be met within the timeout, or the step fails. ---


def expect(page, url=None, text=None, not_text=None, selector=None, timeout=10):
    deadline = time.monotonic() + timeout
    while True:
        try:
            missing = find_unmet(page, url, text, not_text, selector)
        except BrowserError as error:
            # An element is missing while the page changes.
            missing = str(error)
        if missing is None:
            return
        if time.monotonic() > deadline:
            raise UnmetExpectation(missing)
        page.browser.rest(0.1)


def find_unmet(page, url, text, not_text, selector):
    """Returns a description of the first expectation that is not met; None if all are met."""
    if url and fill(url) not in page.evaluate("location.href"):
        return "the address does not contain %s" % url
    if text or not_text:
        shown = " ".join(visible_text(page).split())
        if text and " ".join(fill(text).split()) not in shown:
            return "the page does not show \u201c%s\u201d" % text
        if not_text and " ".join(fill(not_text).split()) in shown:
            return "the page shows \u201c%s\u201d" % not_text
    if selector and not any(is_shown(page, selector, frame) for frame in frame_paths(page)):
        return "no visible element matches %s" % selector
    return None


def visible_text(page):
    texts = []
    for frame in frame_paths(page):
        try:
            texts.append(page.evaluate("document.body ? document.body.innerText : ''", frame) or "")
        except BrowserError:
            # A frame that is not ready shows nothing.
            continue
    return "\n".join(texts)


def is_shown(page, selector, frame):
    try:
        found = page.find_matching([selector], frame)
        return any(page.call_function(each, "function () { return (%s)(this); }" % IS_VISIBLE) for each in found)
    except BrowserError:
        return False


class UnmetExpectation(RuntimeError):
    pass
