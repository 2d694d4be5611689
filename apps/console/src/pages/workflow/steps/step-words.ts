import type { Step } from '../use-editing';

/** What each type of step is asked for in the form; whatever else it has is kept as JSON. */
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

/** What is a number in the API. */
export const numberFields: readonly string[] = ['ms', 'x', 'y'];

const own = ['id', 'type', 'title', 'confidence', 'atMs', 'review', 'frameKey', 'frameUrl'];

export function idOf(step: Step): string {
  return textOf(step['id']);
}

export function titleOf(step: Step): string {
  return textOf(step['title']) || textOf(step['type']) || 'step';
}

/** What a step is about, in one line. */
export function detailsOf(step: Step): string {
  const rest = Object.entries(step).filter(([name]) => !own.includes(name));
  const type = step['title'] ? [textOf(step['type'])] : [];
  return [...type, ...rest.map(([name, value]) => `${name} ${shown(value)}`)].join(', ').slice(0, 500);
}

/** What a step has beside what the form asks for. */
export function furtherOf(step: Step, fields: readonly string[]): Step {
  const asked = ['id', 'type', ...fields.filter((name) => isAsked(name, step[name]))];
  return Object.fromEntries(Object.entries(step).filter(([name]) => !asked.includes(name)));
}

/** Whether the form's field can hold it as it is. */
export function isAsked(name: string, value: unknown): value is string | number {
  return typeof value === (numberFields.includes(name) ? 'number' : 'string');
}

/** An id that no other step has, which says what the step is. */
export function newId(type: string, others: readonly Step[]): string {
  const taken = new Set(others.map(idOf));
  for (let number = others.length + 1; ; number += 1) {
    const id = `${type}-${number}`;
    if (!taken.has(id)) return id;
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
