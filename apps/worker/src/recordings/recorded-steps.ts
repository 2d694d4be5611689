import { isObject, toStringOrEmpty } from '../protocol/command';

export type Step = Record<string, unknown>;

/** Maximum number of steps of a workflow. */
const maxSteps = 2000;
const shortestSecret = 4;

/**
 * Collects a person's actions as steps in the format of Chrome's DevTools Recorder. A typed password is not part of the
 * steps: a variable replaces it wherever it appears.
 */
export class RecordedSteps {
  private readonly steps: Step[] = [];
  private readonly secrets = new Map<string, { name: string; value: string }>();
  private left = 0;

  /** Number of steps that were left out because there were too many. */
  get leftOutCount(): number {
    return this.left;
  }

  get stepCount(): number {
    return this.steps.length;
  }

  recordViewport(width: number, height: number, deviceScaleFactor: number): void {
    const plain = { isMobile: false, hasTouch: false, isLandscape: false };
    this.addStep({ type: 'setViewport', width, height, deviceScaleFactor, ...plain });
  }

  /** Adds an event that the page script reported in a tab. Invalid events are ignored. */
  recordPageEvent(text: string, target: string): void {
    const event = parseEvent(text);
    const { kind, frame, selectors, value, secret, key, held, x, y, offsetX, offsetY, button } = event;
    const where = { target, ...(isFrameIndexPath(frame) ? { frame } : {}) };
    if (kind === 'key')
      return this.recordKey(String(key).slice(0, 50), Array.isArray(held) ? held.map(String) : [], where);
    const element = isSelectorLists(selectors) ? { ...where, selectors } : null;
    if (kind === 'scroll')
      return this.replaceOrAddStep({
        type: 'scroll',
        ...(element ?? where),
        x: toFiniteNumberOrZero(x),
        y: toFiniteNumberOrZero(y),
      });
    if (!element) return;
    if (kind === 'change') {
      if (typeof secret !== 'string')
        return this.replaceOrAddStep({ type: 'change', ...element, value: toStringOrEmpty(value) });
      const variable = this.assignVariable(element, secret);
      return this.replaceOrAddStep({ type: 'change', ...element, value: variable, metadata: { secret: true } });
    }
    const pointed = {
      ...element,
      offsetX: toFiniteNumberOrZero(offsetX),
      offsetY: toFiniteNumberOrZero(offsetY),
      ...(button ? { button } : {}),
    };
    if (kind === 'click') this.addStep({ type: 'click', ...pointed });
    if (kind === 'doubleClick') {
      this.removeClicks(element);
      this.addStep({ type: 'doubleClick', ...pointed });
    }
  }

  /**
   * Adds a navigation. If the page itself navigated (`byPage`), the navigation is added to the step that caused it,
   * otherwise as a separate step.
   */
  recordNavigation(target: string, url: string, byPage: boolean): void {
    const asserted = [{ type: 'navigation', url, title: '' }];
    if (!byPage) return this.addStep({ type: 'navigate', target, url, assertedEvents: asserted });
    const at = this.steps.findLastIndex(({ type }) =>
      ['click', 'doubleClick', 'keyDown', 'navigate'].includes(String(type)),
    );
    const cause = this.steps[at];
    if (!cause || cause.type === 'navigate' || cause.assertedEvents || cause.target !== target) return;
    cause.assertedEvents = asserted;
  }

  /** Returns the recording without the passwords, wherever they appear: in a URL, in a title, in another field. */
  buildRecording(title: string): { title: string; steps: Step[] } {
    const byLength = [...this.secrets.values()].sort((one, other) => other.value.length - one.value.length);
    const forms = byLength.flatMap(({ name, value }) =>
      value.length < shortestSecret ? [] : listEncodings(value).map((spelling) => [spelling, `{{${name}}}`] as const),
    );
    return replaceSecretValues({ title, steps: this.steps }, forms) as { title: string; steps: Step[] };
  }

  private recordKey(key: string, held: string[], where: Step): void {
    for (const each of held) this.addStep({ type: 'keyDown', ...where, key: each });
    this.addStep({ type: 'keyDown', ...where, key });
    this.addStep({ type: 'keyUp', ...where, key });
    for (const each of [...held].reverse()) this.addStep({ type: 'keyUp', ...where, key: each });
  }

  /** Removes the two clicks of a double click. A slow page may have scrolled between them. */
  private removeClicks(element: Step): void {
    for (let at = this.steps.length - 1, left = 2; at >= 0 && left > 0; at -= 1) {
      const step = this.steps[at]!;
      if (isStepOnSameElement(step, 'click', element)) {
        this.steps.splice(at, 1);
        left -= 1;
      } else if (step.type !== 'scroll') return;
    }
  }

  /** Adds a step, which replaces a previous step of the same kind and element, because only the final state counts. */
  private replaceOrAddStep(step: Step): void {
    if (isStepOnSameElement(this.steps.at(-1), String(step.type), step)) this.steps.pop();
    this.addStep(step);
  }

  private addStep(step: Step): void {
    if (this.steps.length < maxSteps) this.steps.push(step);
    else this.left += 1;
  }

  private assignVariable({ selectors }: Step, value: string): string {
    const field = JSON.stringify(selectors);
    const existing = this.secrets.get(field);
    const name = existing?.name ?? (this.secrets.size ? `PASSWORD_${this.secrets.size + 1}` : 'PASSWORD');
    this.secrets.set(field, { name, value });
    return `{{${name}}}`;
  }
}

function isStepOnSameElement(step: Step | undefined, type: string, { target, frame, selectors }: Step): boolean {
  const isSameList = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
  return (
    step?.type === type &&
    step.target === target &&
    isSameList(step.frame, frame) &&
    isSameList(step.selectors, selectors)
  );
}

function listEncodings(value: string): string[] {
  const form = new URLSearchParams({ '': value }).toString().slice(1);
  return [...new Set([value, encodeURIComponent(value), encodeURI(value), form])];
}

function replaceSecretValues(value: unknown, forms: readonly (readonly [string, string])[]): unknown {
  if (typeof value === 'string') return forms.reduce((text, [from, to]) => text.replaceAll(from, to), value);
  if (Array.isArray(value)) return value.map((each) => replaceSecretValues(each, forms));
  if (!isObject(value)) return value;
  const replaceInEntry = ([name, inner]: [string, unknown]): [string, unknown] => [
    name,
    name === 'type' ? inner : replaceSecretValues(inner, forms),
  ];
  return Object.fromEntries(Object.entries(value).map(replaceInEntry));
}

function parseEvent(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function isFrameIndexPath(frame: unknown): frame is number[] {
  return Array.isArray(frame) && frame.length > 0 && frame.every((each) => Number.isInteger(each) && each >= 0);
}

function isSelectorLists(value: unknown): value is string[][] {
  const isText = (part: unknown): boolean => typeof part === 'string' && part !== '';
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((each) => Array.isArray(each) && each.length > 0 && each.every(isText))
  );
}

function toFiniteNumberOrZero(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
