import { questionKinds } from '@muster/contracts';

/** Returns the text after "must be" if a value is invalid; null if it is valid. */
type Fit = (value: unknown) => string | null;

export interface StepType {
  required: Record<string, Fit>;
  optional: Record<string, Fit>;
  /**
   * Whether a step of this type must or can be about an element of the page. Such a step names the element by selectors
   * or by the field of a form.
   */
  element?: 'required' | 'optional';
  /** Fields that a run of the step needs, but a save of the workflow does not. */
  expected?: readonly string[];
}

const checkText: Fit = (value) => (typeof value === 'string' ? null : 'a text');
const checkNonEmptyText: Fit = (value) =>
  typeof value === 'string' && value !== '' ? null : 'a text that is not empty';
const checkBoolean: Fit = (value) => (typeof value === 'boolean' ? null : 'true or false');
const checkNumber: Fit = (value) => (typeof value === 'number' ? null : 'a number');
const checkNaturalNumber: Fit = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? null : 'an integer of 0 or more';
const checkPositiveNumber: Fit = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 100_000 ? null : 'an integer above 0';
const checkObject: Fit = (value) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? null : 'an object';
const makeOneOfCheck =
  (...values: string[]): Fit =>
  (value) =>
    values.includes(value as string) ? null : `one of ${values.join(', ')}`;
const makeListCheck =
  (fit: Fit, message: string): Fit =>
  (value) =>
    Array.isArray(value) && value.every((each) => fit(each) === null) ? null : message;

const checkSelectorList: Fit = (value) => {
  const isSelectorChain = (each: unknown) =>
    Array.isArray(each) && each.length > 0 && each.every((part) => !checkNonEmptyText(part));
  const fits =
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((each) => !checkNonEmptyText(each) || isSelectorChain(each));
  return fits ? null : 'a list of selectors, each a text or a list of texts';
};

const checkNavigationUrl: Fit = (value) =>
  typeof value === 'string' && /^\S+$/.test(value.replaceAll(/\{\{[^{}]*\}\}/g, 'x')) ? null : 'a URL';

/** Fields that every step may have in addition to those of its type: fields of the recorder and of Muster. */
export const common: Record<string, Fit> = {
  title: checkText,
  name: checkText,
  target: checkText,
  timeout: checkNaturalNumber,
  frame: makeListCheck(checkNaturalNumber, 'a list of integers of 0 or more'),
  assertedEvents: makeListCheck(checkObject, 'a list of objects'),
  metadata: checkObject,
};

const pointer: Record<string, Fit> = {
  offsetX: checkNumber,
  offsetY: checkNumber,
  duration: checkNumber,
  deviceType: makeOneOfCheck('mouse', 'pen', 'touch'),
  button: makeOneOfCheck('primary', 'auxiliary', 'secondary', 'back', 'forward'),
};

/** The step types of Chrome's DevTools Recorder. */
export const recorderTypes: Record<string, StepType> = {
  setViewport: {
    required: { width: checkPositiveNumber, height: checkPositiveNumber },
    optional: {
      deviceScaleFactor: checkNumber,
      isMobile: checkBoolean,
      hasTouch: checkBoolean,
      isLandscape: checkBoolean,
    },
  },
  emulateNetworkConditions: {
    required: { download: checkNumber, upload: checkNumber, latency: checkNumber },
    optional: {},
  },
  navigate: { required: { url: checkNavigationUrl }, optional: {} },
  click: { required: {}, optional: pointer, element: 'required' },
  doubleClick: { required: {}, optional: pointer, element: 'required' },
  hover: { required: {}, optional: {}, element: 'required' },
  change: { required: { value: checkText }, optional: {}, element: 'required' },
  keyDown: { required: { key: checkNonEmptyText }, optional: {} },
  keyUp: { required: { key: checkNonEmptyText }, optional: {} },
  scroll: { required: {}, optional: { x: checkNumber, y: checkNumber }, element: 'optional' },
  waitForElement: {
    required: {},
    optional: {
      operator: makeOneOfCheck('>=', '==', '<='),
      count: checkNaturalNumber,
      visible: checkBoolean,
      attributes: checkObject,
      properties: checkObject,
    },
    element: 'required',
  },
  waitForExpression: { required: { expression: checkNonEmptyText }, optional: {} },
  close: { required: {}, optional: {} },
  customStep: { required: { name: checkNonEmptyText, parameters: checkObject }, optional: {} },
};

const checkKeyName: Fit = (value) =>
  typeof value === 'string' && value !== '' && value.length <= 100 ? null : 'a key of at most 100 characters';
const checkPauseMs: Fit = (value) =>
  typeof value === 'number' && value >= 0 && value <= maxPauseMs
    ? null
    : `a number of milliseconds up to ${maxPauseMs}`;
const maxPauseMs = 24 * 60 * 60_000;
/** Type of a step that fills an element. Its value can be added after a save; a save without it gives a warning. */
const filling: StepType = { required: {}, optional: { value: checkText }, element: 'required', expected: ['value'] };

/** The recorder's types and those that only people write. No run can do a `customStep` of a recorder extension. */
const { customStep: _customStep, ...playable } = recorderTypes;
const writtenTypes: Record<string, StepType> = {
  ...playable,
  change: filling,
  select: filling,
  press: { required: { key: checkKeyName }, optional: {}, element: 'optional' },
  upload: { required: { path: checkNonEmptyText }, optional: {}, element: 'required' },
  wait: { required: { ms: checkPauseMs }, optional: {} },
  extract: {
    required: {},
    optional: { as: checkNonEmptyText, attribute: checkNonEmptyText },
    element: 'required',
    expected: ['as'],
  },
  screenshot: { required: {}, optional: {} },
  python: { required: { code: checkNonEmptyText }, optional: {} },
  ask: {
    required: { question: checkNonEmptyText },
    optional: {
      kind: makeOneOfCheck(...questionKinds),
      as: checkNonEmptyText,
      choices: makeListCheck(checkNonEmptyText, 'a list of texts'),
      fields: makeListCheck(checkObject, 'a list of objects'),
      to: makeListCheck(checkNonEmptyText, 'a list of texts'),
      inbound: checkNonEmptyText,
      takeover: checkBoolean,
      waits: checkNonEmptyText,
      default: () => null,
      context: checkObject,
    },
  },
};

/** Other names of step types that people may write. */
const aliases: Record<string, string> = {
  goto: 'navigate',
  fill: 'change',
  type: 'change',
  input: 'change',
  script: 'python',
};

/** Returns the name of a type without aliases; null if no run can do steps of this type. */
export function findCanonicalType(type: string): string | null {
  const name = Object.hasOwn(aliases, type) ? aliases[type]! : type;
  return Object.hasOwn(writtenTypes, name) ? name : null;
}

/** Returns the rules for steps of a type or of an alias; undefined if no run can do such steps. */
export function getStepType(type: string): StepType | undefined {
  const name = findCanonicalType(type);
  return name === null ? undefined : writtenTypes[name];
}

/** Returns the invalid field that names the step's element, and its message; null if the element is valid. */
export function checkStepElement(
  step: Record<string, unknown>,
  need: 'required' | 'optional',
): [string, string] | null {
  for (const [name, fit] of [
    ['selectors', checkSelectorList],
    ['selector', checkNonEmptyText],
    ['field', checkNonEmptyText],
    ['text', checkNonEmptyText],
  ] as const) {
    if (step[name] === undefined) continue;
    const message = fit(step[name]);
    return message ? [name, `must be ${message}`] : null;
  }
  return need === 'required' ? ['selector', 'is required if the step has neither field nor text'] : null;
}
