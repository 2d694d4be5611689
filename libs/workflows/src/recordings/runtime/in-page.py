MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
KEY_CODES = {
    **{"Backspace": 8, "Tab": 9, "Enter": 13, "Shift": 16, "Control": 17, "Alt": 18, "Pause": 19, "CapsLock": 20},
    **{"Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38},
    **{"ArrowRight": 39, "ArrowDown": 40, "Insert": 45, "Delete": 46, "Meta": 91, "ContextMenu": 93},
    **{"F%d" % number: 111 + number for number in range(1, 13)},
}

IS_VISIBLE = """(element) => {
  const box = element.getBoundingClientRect();
  const style = element.ownerDocument.defaultView.getComputedStyle(element);
  return box.width > 0 && box.height > 0 && style.visibility !== 'hidden' && style.display !== 'none';
}"""

QUERY = """function (selector) {
  const root = this;
  const all = (from) => [...from.querySelectorAll('*')].flatMap((each) =>
    each.shadowRoot ? [each, ...all(each.shadowRoot)] : [each]);
  const words = (text) => (text || '').replace(/\\s+/g, ' ').trim();
  try {
    if (selector.startsWith('xpath/')) {
      const owner = root.ownerDocument || root;
      const found = owner.evaluate(selector.slice(6), root, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
      return Array.from({ length: found.snapshotLength }, (_, at) => found.snapshotItem(at));
    }
    if (selector.startsWith('text/')) {
      const wanted = words(selector.slice(5));
      const has = (each) => !['SCRIPT', 'STYLE', 'HEAD', 'TITLE', 'HTML'].includes(each.tagName) &&
        words(each instanceof HTMLInputElement ? each.value : each.textContent).includes(wanted);
      return all(root).filter((each) => has(each) && ![...each.children].some(has));
    }
    if (selector.startsWith('pierce/')) return all(root).filter((each) => each.matches(selector.slice(7)));
    return [...root.querySelectorAll(selector.replace(/^css\\//, ''))];
  } catch (error) {
    // A selector that this browser cannot read fits nothing; the next one may.
    return [];
  }
}"""

KIND_OF = """function () {
  if (this.isContentEditable || this instanceof HTMLTextAreaElement) return 'typed';
  if (!(this instanceof HTMLInputElement)) return 'set';
  if (this.type === 'file') return 'file';
  return ['text', 'url', 'tel', 'search', 'password', 'number', 'email'].includes(this.type) ? 'typed' : 'set';
}"""

SELECT_ALL = """function () {
  this.focus();
  if (this.select) this.select();
  else this.ownerDocument.defaultView.getSelection().selectAllChildren(this);
}"""

SET_VALUE = """function (value) {
  if (this.isContentEditable) this.textContent = value;
  else {
    const owner = this instanceof HTMLSelectElement ? HTMLSelectElement
      : this instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
    // Frameworks put a setter of their own in front of this one.
    Object.getOwnPropertyDescriptor(owner.prototype, 'value').set.call(this, value);
    if (this instanceof HTMLSelectElement && this.value !== value) return false;
  }
  for (const name of ['input', 'change']) this.dispatchEvent(new Event(name, { bubbles: true }));
  return true;
}"""

HAS = """function (visible, attributes, properties) {
  const same = (value, wanted) => wanted && typeof wanted === 'object'
    ? value && Object.entries(wanted).every(([name, inner]) => same(value[name], inner))
    : value === wanted;
  return (%s)(this) === visible && same(this, properties) &&
    Object.entries(attributes).every(([name, value]) => this.getAttribute(name) === value);
}""" % IS_VISIBLE
