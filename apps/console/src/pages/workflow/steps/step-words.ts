import type { Step } from '../use-editing';

/** The form fields of each step type. Other properties are edited as JSON. */
export const fieldsOfType: Record<string, readonly string[]> = {
  goto: ['url'],
  click: ['selector', 'field', 'text'],
  doubleClick: ['selector', 'field', 'text'],
  hover: ['selector', 'field', 'text'],
  fill: ['selector', 'field', 'value'],
  select: ['selector', 'field', 'value'],
  press: ['key'],
  scroll: ['selector', 'x', 'y'],
  upload: ['selector', 'field', 'path'],
  wait: ['ms'],
  waitForElement: ['selector', 'field', 'text'],
  waitForExpression: ['expression'],
  extract: ['selector', 'field', 'as'],
  screenshot: ['name'],
  python: ['code'],
  close: [],
};

/** Properties that are numbers in the API. */
export const numberFields: readonly string[] = ['ms', 'x', 'y'];

const own = ['id', 'type', 'title', 'confidence', 'atMs', 'review', 'frameKey', 'frameUrl'];

export function getStepId(step: Step): string {
  return toTextOrEmpty(step['id']);
}

export function getStepTitle(step: Step): string {
  return toTextOrEmpty(step['title']) || toTextOrEmpty(step['type']) || 'step';
}

/** Summary of a step in one line. */
export function summarizeStep(step: Step): string {
  const rest = Object.entries(step).filter(([name]) => !own.includes(name));
  const type = step['title'] ? [toTextOrEmpty(step['type'])] : [];
  return [...type, ...rest.map(([name, value]) => `${name} ${formatValue(value)}`)].join(', ').slice(0, 500);
}

/** The properties of a step that have no form field. */
export function pickPropertiesWithoutField(step: Step, fields: readonly string[]): Step {
  const formFields = ['id', 'type', ...fields.filter((name) => fitsFormField(name, step[name]))];
  return Object.fromEntries(Object.entries(step).filter(([name]) => !formFields.includes(name)));
}

/** Whether the form field can represent the value without a change. */
export function fitsFormField(name: string, value: unknown): value is string | number {
  return typeof value === (numberFields.includes(name) ? 'number' : 'string');
}

/** Returns a unique id that begins with the step type. */
export function createStepId(type: string, others: readonly Step[]): string {
  const taken = new Set(others.map(getStepId));
  for (let number = others.length + 1; ; number += 1) {
    const id = `${type}-${number}`;
    if (!taken.has(id)) return id;
  }
}

function toTextOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
