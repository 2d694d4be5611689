import { questionKinds } from '@muster/contracts';

/** Returns the text after "must be" if a value is invalid; null if it is valid. */
type Fit = (value: unknown) => string | null;

export interface StepType {
  required: Record<string, Fit>;
  optional: Record<string, Fit>;
  /** Set if the step is about an element, which it names by selectors or by a form's field. */
  element?: 'required' | 'optional';
  /** Fields that a run needs, but a save does not. */
  expected?: readonly string[];
}

const text: Fit = (value) => (typeof value === 'string' ? null : 'a text');
const filled: Fit = (value) => (typeof value === 'string' && value !== '' ? null : 'a text that is not empty');
const flag: Fit = (value) => (typeof value === 'boolean' ? null : 'true or false');
const number: Fit = (value) => (typeof value === 'number' ? null : 'a number');
const natural: Fit = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? null : 'an integer of 0 or more';
const positive: Fit = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 100_000 ? null : 'an integer above 0';
const record: Fit = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? null : 'an object';
const oneOf =
  (...values: string[]): Fit =>
  (value) =>
    values.includes(value as string) ? null : `one of ${values.join(', ')}`;
const listOf =
  (fit: Fit, message: string): Fit =>
  (value) =>
    Array.isArray(value) && value.every((each) => fit(each) === null) ? null : message;

const selectorList: Fit = (value) => {
  const chain = (each: unknown) => Array.isArray(each) && each.length > 0 && each.every((part) => !filled(part));
  const fits = Array.isArray(value) && value.length > 0 && value.every((each) => !filled(each) || chain(each));
  return fits ? null : 'a list of selectors, each a text or a list of texts';
};

const url: Fit = (value) =>
  typeof value === 'string' && /^\S+$/.test(value.replaceAll(/\{\{[^{}]*\}\}/g, 'x')) ? null : 'a URL';

/** Fields that every step may have in addition to those of its type: fields of the recorder and of Muster. */
export const common: Record<string, Fit> = {
  title: text,
  name: text,
  target: text,
  timeout: natural,
  frame: listOf(natural, 'a list of integers of 0 or more'),
  assertedEvents: listOf(record, 'a list of objects'),
  metadata: record,
};

const pointer: Record<string, Fit> = {
  offsetX: number,
  offsetY: number,
  duration: number,
  deviceType: oneOf('mouse', 'pen', 'touch'),
  button: oneOf('primary', 'auxiliary', 'secondary', 'back', 'forward'),
};

/** The step types of Chrome's DevTools Recorder. */
export const recorderTypes: Record<string, StepType> = {
  setViewport: {
    required: { width: positive, height: positive },
    optional: { deviceScaleFactor: number, isMobile: flag, hasTouch: flag, isLandscape: flag },
  },
  emulateNetworkConditions: { required: { download: number, upload: number, latency: number }, optional: {} },
  navigate: { required: { url }, optional: {} },
  click: { required: {}, optional: pointer, element: 'required' },
  doubleClick: { required: {}, optional: pointer, element: 'required' },
  hover: { required: {}, optional: {}, element: 'required' },
  change: { required: { value: text }, optional: {}, element: 'required' },
  keyDown: { required: { key: filled }, optional: {} },
  keyUp: { required: { key: filled }, optional: {} },
  scroll: { required: {}, optional: { x: number, y: number }, element: 'optional' },
  waitForElement: {
    required: {},
    optional: {
      operator: oneOf('>=', '==', '<='),
      count: natural,
      visible: flag,
      attributes: record,
      properties: record,
    },
    element: 'required',
  },
  waitForExpression: { required: { expression: filled }, optional: {} },
  close: { required: {}, optional: {} },
  customStep: { required: { name: filled, parameters: record }, optional: {} },
};

const key: Fit = (value) =>
  typeof value === 'string' && value !== '' && value.length <= 100 ? null : 'a key of at most 100 characters';
const pause: Fit = (value) =>
  typeof value === 'number' && value >= 0 && value <= maxPauseMs
    ? null
    : `a number of milliseconds up to ${maxPauseMs}`;
const maxPauseMs = 24 * 60 * 60_000;
/** Fills an element. The value can be added after a save, which gives a warning. */
const filling: StepType = { required: {}, optional: { value: text }, element: 'required', expected: ['value'] };

/** The recorder's types and those that only people write. No run can do a `customStep` of a recorder extension. */
const { customStep: _customStep, ...playable } = recorderTypes;
const writtenTypes: Record<string, StepType> = {
  ...playable,
  change: filling,
  select: filling,
  press: { required: { key }, optional: {}, element: 'optional' },
  upload: { required: { path: filled }, optional: {}, element: 'required' },
  wait: { required: { ms: pause }, optional: {} },
  extract: { required: {}, optional: { as: filled, attribute: filled }, element: 'required', expected: ['as'] },
  screenshot: { required: {}, optional: {} },
  python: { required: { code: filled }, optional: {} },
  ask: {
    required: { question: filled },
    optional: {
      kind: oneOf(...questionKinds),
      as: filled,
      choices: listOf(filled, 'a list of texts'),
      fields: listOf(record, 'a list of objects'),
      to: listOf(filled, 'a list of texts'),
      inbound: filled,
      waits: filled,
      default: () => null,
      context: record,
    },
  },
};

/** Aliases of step types. */
const aliases: Record<string, string> = {
  goto: 'navigate',
  fill: 'change',
  type: 'change',
  input: 'change',
  script: 'python',
};

/** Returns the name of a type without aliases; null if no run can do steps of this type. */
export function canonicalType(type: string): string | null {
  const name = Object.hasOwn(aliases, type) ? aliases[type]! : type;
  return Object.hasOwn(writtenTypes, name) ? name : null;
}

/** Returns the rules for steps of a type or of an alias; undefined if no run can do such steps. */
export function stepTypeOf(type: string): StepType | undefined {
  const name = canonicalType(type);
  return name === null ? undefined : writtenTypes[name];
}

/** Returns the invalid field that names the step's element, and its message; null if the element is valid. */
export function elementFault(step: Record<string, unknown>, need: 'required' | 'optional'): [string, string] | null {
  for (const [name, fit] of [
    ['selectors', selectorList],
    ['selector', filled],
    ['field', filled],
    ['text', filled],
  ] as const) {
    if (step[name] === undefined) continue;
    const message = fit(step[name]);
    return message ? [name, `must be ${message}`] : null;
  }
  return need === 'required' ? ['selector', 'must be given, or field or text'] : null;
}
