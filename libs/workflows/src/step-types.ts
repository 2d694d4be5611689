/** What a value must be to fit, in words that follow "must be"; null where it fits. */
type Fit = (value: unknown) => string | null;

export interface StepType {
  required: Record<string, Fit>;
  optional: Record<string, Fit>;
  /** Is about an element, which it names by selectors or by a form's field. */
  element?: 'required' | 'optional';
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
  (fit: Fit, words: string): Fit =>
  (value) =>
    Array.isArray(value) && value.every((each) => fit(each) === null) ? null : words;

const selectorList: Fit = (value) => {
  const chain = (each: unknown) => Array.isArray(each) && each.length > 0 && each.every((part) => !filled(part));
  const fits = Array.isArray(value) && value.length > 0 && value.every((each) => !filled(each) || chain(each));
  return fits ? null : 'a list of selectors, each a text or a list of texts';
};

const url: Fit = (value) => (typeof value === 'string' && /^\S+$/.test(value) ? null : 'a URL');

/** What every step may have beside its type's own fields: the recorder's, and what we add. */
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
const field: StepType = { required: { field: filled }, optional: { value: text } };

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

/** With those that only people write. */
export const stepTypes: Record<string, StepType> = {
  ...recorderTypes,
  script: { required: { code: filled }, optional: {} },
  input: field,
  fill: field,
  select: field,
  extract: field,
};

/** Why the step's element cannot be told, as the field that is at fault and the words for it. */
export function elementFault(step: Record<string, unknown>, need: 'required' | 'optional'): [string, string] | null {
  for (const [name, fit] of [
    ['selectors', selectorList],
    ['field', filled],
  ] as const) {
    if (step[name] === undefined) continue;
    const words = fit(step[name]);
    return words ? [name, `must be ${words}`] : null;
  }
  return need === 'required' ? ['selectors', 'must be given'] : null;
}
