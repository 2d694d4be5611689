# --- Finds selectors by which an element can be found again, the best first, in addition to those of the command. ---

SCORES = {"role": 0.95, "label": 0.9, "testid": 0.85, "text": 0.7, "css": 0.5, "xpath": 0.3}
MAX_CANDIDATES = 8
FIELDS = {"textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "spinbutton", "switch", "slider", "menuitemcheckbox"}

WAYS = """function (inputs) {
  const words = (text) => (text || '').replace(/\\s+/g, ' ').trim();
  const root = this.getRootNode();
  const isOpen = root === document;
  const only = (selector) => {
    try {
      const found = root.querySelectorAll(selector);
      return found.length === 1 && found[0] === this;
    } catch { return false; }
  };
  const isMade = (id) => /\\d{3,}|[0-9a-f]{8,}|^:|^(react|radix|ember|mui|headlessui)/i.test(id);
  const found = [];
  const add = (kind, selector, score) => found.push({ kind, selector, score });
  for (const name of ['data-testid', 'data-test', 'data-qa', 'data-cy']) {
    const value = this.getAttribute(name);
    if (value) add('testid', '[' + name + '=' + JSON.stringify(value) + ']');
  }
  const id = this.getAttribute('id');
  if (id && !isMade(id)) add('css', '#' + CSS.escape(id), 0.6);
  const name = this.getAttribute('name');
  if (name) add('css', this.localName + '[name=' + JSON.stringify(name) + ']', 0.55);
  if (isOpen && !this.matches('input, select, textarea') && !this.isContentEditable) {
    const text = words(this.textContent);
    if (text && text.length <= 60) add('text', 'text/' + text);
  }
  const quoted = (text) => text.includes('"') ? (text.includes("'") ? null : "'" + text + "'") : '"' + text + '"';
  // By the row that an input names: of many alike, the one of this claim. Rows are drawn in many ways.
  const texts = (box) => {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    const all = [];
    while (walker.nextNode()) all.push(words(walker.currentNode.data));
    return all;
  };
  const rows = 'tr, li, article, [role=row], [role=listitem]';
  const around = isOpen ? this.parentElement?.closest(rows) : null;
  const own = words(this.matches('input') ? this.value : this.textContent);
  const input = around && inputs.filter((each) => each.trim().length >= 3 && quoted(each))
    .find((each) => words(around.textContent).includes(each) && !own.includes(each));
  if (input && quoted(own)) {
    const row = '*[self::tr or self::li or self::article or @role="row" or @role="listitem"]';
    const isWhole = texts(around).includes(input);
    const says = isWhole ? '[.//text()[normalize-space(.)=' + quoted(input) + ']]' : '[contains(normalize-space(.), ' + quoted(input) + ')]';
    const what = this.matches('a, button') ? '*[self::a or self::button]' : this.localName;
    const named = own && own.length <= 60 ? '[normalize-space(' + (this.matches('input') ? '@value' : '.') + ')=' + quoted(own) + ']' : '';
    add('xpath', 'xpath///' + row + says + '//' + what + named, 0.8);
  }
  let path = '';
  for (let at = this; at && at.nodeType === 1; at = at.parentElement) {
    const twins = at.parentNode ? [...at.parentNode.children].filter((each) => each.localName === at.localName) : [at];
    const part = CSS.escape(at.localName) + (twins.length > 1 ? ':nth-of-type(' + (twins.indexOf(at) + 1) + ')' : '');
    path = path ? part + ' > ' + path : part;
    if (only(path)) break;
  }
  add('css', path, 0.35);
  if (isOpen) {
    const parts = [];
    for (let at = this; at && at.nodeType === 1; at = at.parentElement) {
      const twins = at.parentNode ? [...at.parentNode.children].filter((each) => each.localName === at.localName) : [at];
      parts.unshift('/' + at.localName + (twins.length > 1 ? '[' + (twins.indexOf(at) + 1) + ']' : ''));
    }
    add('xpath', 'xpath/' + parts.join(''));
  }
  return found;
}"""
SAME = "function (other) { return this === other; }"
SHOWN = "function () { return (%s)(this); }" % IS_VISIBLE


def locate_element(page, selectors, timeout):
    """Returns (frame, element, selector) of the first selector that matches a single element, else of the first that
    matches any."""
    found = []

    def search_once():
        for selector in selectors:
            places = [(frame, each) for frame in frame_paths(page) for each in find_shown(page, frame, selector)]
            if places and (len(places) == 1 or not found):
                found[:] = [(*places[0], selector)]
            if len(places) == 1:
                break
        return bool(found)

    if not page.wait_until_still(search_once, timeout):
        raise NothingFits("no visible element matches %s" % format_selectors(selectors))
    return found[0]


def find_shown(page, frame, selector):
    try:
        return [each for each in page.find_matching([selector], frame) if page.call_function(each, SHOWN)][:200]
    except BrowserError:
        return []


class NothingFits(Exception):
    pass


def list_candidates(page, frame, element, given):
    """Returns selectors that match this element. Values of inputs are replaced by their names. A selector that
    contains the value of a vault key is left out."""
    ways = [*list_accessible_selectors(page, element), *page.call_function(element, WAYS, list(INPUTS.values()))]
    ways += [{"kind": each["kind"], "selector": each["selector"]} for each in given]
    known = {}
    for way in ways:
        selector, is_general = generalize_selector(way["selector"])
        score = way.get("score") or SCORES[way["kind"]]
        if hide(way["selector"]) != way["selector"] or len(selector) > 500:
            continue
        unique = is_only_match(page, frame, element, selector)
        if unique is None:
            continue
        score = round((score + (0.04 if is_general else 0)) * (1 if unique else 0.5), 3)
        candidate = {"selector": selector, "kind": way["kind"], "score": score, "uniqueNow": unique}
        if selector not in known or known[selector][0]["score"] < score:
            known[selector] = (candidate, is_general)
    # With another input, a selector that contains the input finds another element. A fixed position would miss it.
    general = [candidate for candidate, is_general in known.values() if is_general and candidate["uniqueNow"]]
    chosen = general or [candidate for candidate, _ in known.values()]
    return sorted(chosen, key=lambda each: -each["score"])[:MAX_CANDIDATES]


def list_accessible_selectors(page, element):
    """Returns selectors with the accessible name and the role."""
    node = page.call("Accessibility.getPartialAXTree", {"objectId": element, "fetchRelatives": False})["nodes"][0]
    role = (node.get("role") or {}).get("value", "")
    name = " ".join(str((node.get("name") or {}).get("value", "")).split())
    if node.get("ignored") or not name or len(name) > 120 or re.search(r"\[\s*(name|role)\s*=", name):
        return []
    ways = []
    if role and role not in ("generic", "none", "StaticText"):
        ways.append({"kind": "role", "selector": 'aria/%s[role="%s"]' % (name, role)})
    if role in FIELDS:
        ways.append({"kind": "label", "selector": "aria/" + name})
    return ways


def generalize_selector(selector):
    """Replaces values of inputs by their names, so that the selector works for other values. Also returns whether any
    was replaced."""
    general = selector
    for name, value in sorted(INPUTS.items(), key=lambda each: -len(each[1])):
        if len(value) >= 3 and value.strip():
            general = re.sub(r"(?<![\w{])%s(?![\w}])" % re.escape(value), lambda _: "{{%s}}" % name, general)
    return general, bool(NAME.search(general))


def is_only_match(page, frame, element, selector):
    """Whether this element is the only visible one that the selector matches; None if it does not match it."""
    found = []
    for path in frame_paths(page):
        found.extend((path, each) for each in find_shown(page, path, selector))
    if not any(path == frame and is_same(page, each, element) for path, each in found):
        return None
    return len(found) == 1


def is_same(page, one, other):
    asked = {"objectId": one, "functionDeclaration": SAME, "returnByValue": True, "arguments": [{"objectId": other}]}
    return page.read_answer(page.call("Runtime.callFunctionOn", asked), True)
