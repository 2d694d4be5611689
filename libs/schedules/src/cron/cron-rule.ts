import { CronExpressionParser } from 'cron-parser';

/** A parsed cron expression. Each list is in ascending order and never empty. */
export interface CronRule {
  minutes: readonly number[];
  hours: readonly number[];
  days: ReadonlySet<number>;
  months: ReadonlySet<number>;
  /** Days of the week; 0 is Sunday. */
  weekdays: ReadonlySet<number>;
  /** Whether both day fields are restricted. A day must then match only one of them; otherwise it must match both. */
  eitherDay: boolean;
  /**
   * Whether the minute or hour field has a `*`. Such a rule follows real time when the clocks change, as in cron(8).
   */
  wildcard: boolean;
}

export type CronReading = { rule: CronRule; fault?: undefined } | { rule?: undefined; fault: string };

/**
 * Parses five fields: minute, hour, day of month, month, day of week. cron-parser computes the values of one item at a
 * time, because it rejects a list that contains a value twice. This file decides which items are allowed, and writes
 * the error messages.
 */
export function parseCronOrFault(expression: string): CronReading {
  try {
    return { rule: parseCronFields(expression) };
  } catch (error) {
    if (error instanceof CronFault) return { fault: error.message };
    throw error;
  }
}

const rules = new Map<string, CronRule>();

/**
 * Parses a stored expression, which was checked when it was saved. Results are cached, because parsing costs as much as
 * hundreds of `findNextRun` calls.
 */
export function parseCron(expression: string): CronRule {
  const cached = rules.get(expression);
  if (cached) return cached;
  const rule = parseCronFields(expression);
  if (rules.size >= 2000) rules.clear();
  rules.set(expression, rule);
  return rule;
}

class CronFault extends Error {}

interface Field {
  name: string;
  /** Name of the field in cron-parser. */
  key: 'minute' | 'hour' | 'dayOfMonth' | 'month' | 'dayOfWeek';
  /** Valid text for this field in the expression with which another field is parsed alone. */
  idle: string;
  min: number;
  max: number;
  names?: readonly string[];
}

const maxLength = 200;

const fields: readonly [Field, Field, Field, Field, Field] = [
  { name: 'minute', key: 'minute', idle: '0', min: 0, max: 59 },
  { name: 'hour', key: 'hour', idle: '0', min: 0, max: 23 },
  { name: 'day of month', key: 'dayOfMonth', idle: '*', min: 1, max: 31 },
  {
    name: 'month',
    key: 'month',
    idle: '*',
    min: 1,
    max: 12,
    names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
  },
  {
    name: 'day of week',
    key: 'dayOfWeek',
    idle: '*',
    min: 0,
    max: 7,
    names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'],
  },
];

const longestMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function parseCronFields(expression: string): CronRule {
  const parts = splitCronFields(expression);
  const [minute, hour, day, month, weekday] = fields.map((field, at) => parseCronField(field, parts[at]!)) as [
    Values,
    Values,
    Values,
    Values,
    Values,
  ];
  const possible = month.values.some((each) => day.values[0]! <= longestMonth[each - 1]!);
  if (weekday.star && !possible) {
    throw new CronFault(`it never runs: none of its months has a day ${day.values[0]}`);
  }
  return {
    minutes: minute.values,
    hours: hour.values,
    days: new Set(day.values),
    months: new Set(month.values),
    weekdays: new Set(weekday.values.map((each) => each % 7)),
    eitherDay: !day.star && !weekday.star,
    wildcard: minute.star || hour.star,
  };
}

function splitCronFields(expression: string): string[] {
  if (expression.length > maxLength) throw new CronFault(`it has more than ${maxLength} characters`);
  const foreign = /[^\x21-\x7e \t]/u.exec(expression);
  if (foreign) {
    const code = foreign[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
    throw new CronFault(`U+${code} is not allowed; write the expression in ASCII, on one line`);
  }
  const parts = expression.split(/[ \t]+/).filter(Boolean);
  if (parts.length === 0) throw new CronFault('it is empty; it needs five fields');
  if (parts[0]!.startsWith('@')) throw new CronFault(`${quoteText(parts[0]!)} is not supported; write the five fields`);
  if (parts.length !== 5) {
    const seconds = parts.length === 6 ? '; there is no field for seconds or years' : '';
    throw new CronFault(
      `it has ${parts.length} field${parts.length === 1 ? '' : 's'} and needs five: ` +
        `minute, hour, day of month, month, day of week${seconds}`,
    );
  }
  return parts;
}

interface Values {
  values: number[];
  /** Whether the field, or an item of its list, begins with `*`. */
  star: boolean;
}

function parseCronField(field: Field, text: string): Values {
  const values = new Set<number>();
  let star = false;
  for (const item of text.split(',')) {
    if (item === '') throw createCronFault(field, `${quoteText(text)} has an empty item in its list`);
    if (item.startsWith('*')) star = true;
    for (const value of parseFieldItem(field, item)) values.add(value);
  }
  return { values: [...values].sort((a, b) => a - b), star };
}

/** Parses one item: `*`, a value, a range, or `*` or a range with a step. */
function parseFieldItem(field: Field, item: string): readonly number[] {
  requireValidItem(field, item);
  // cron-parser always reads SUN as 0, so FRI-SUN would be a range that runs backwards. SUN at the end of a range is
  // replaced with 7, unless the range starts on Sunday.
  const plain = item.replace(/(?<=[^-]-)sun(?=$|\/)/i, (end) => (/^(sun|0)-/i.test(item) ? end : '7'));
  const expression = fields.map((each) => (each === field ? plain : each.idle)).join(' ');
  try {
    return CronExpressionParser.parse(expression).fields[field.key].values as readonly number[];
  } catch (error) {
    throw createCronFault(field, `${quoteText(item)} is not valid: ${(error as Error).message}`);
  }
}

/**
 * Rejects items that cron-parser accepts but Muster does not support, and items for which cron-parser's message does
 * not explain what to do.
 */
function requireValidItem(field: Field, item: string): void {
  const [span, step, ...more] = item.split('/');
  if (more.length)
    throw createCronFault(field, `${quoteText(item)} has more than one step; write only one slash and one number`);
  requireValidSpan(field, span!, item);
  if (step === undefined) return;
  if (!/^\d{1,3}$/.test(step)) throw createCronFault(field, `the step ${quoteText(step)} is not a number`);
  const by = Number(step);
  if (by === 0) throw createCronFault(field, 'a step of 0 never advances');
  if (span !== '*' && !span!.includes('-')) {
    throw createCronFault(
      field,
      `${quoteText(item)} has a step without a range; write ${span}-${field.max}/${step} or */${step}`,
    );
  }
  if (by > field.max) throw createCronFault(field, `a step of ${by} is larger than the field`);
}

function requireValidSpan(field: Field, span: string, item: string): void {
  if (span === '*') return;
  const ends = span.split('-');
  if (ends.length > 2) throw createCronFault(field, `${quoteText(item)} is not a range`);
  const [from, to = from] = ends.map((end) => parseFieldValue(field, end, item)) as [number, number?];
  const toSunday = to === 0 && /^sun$/i.test(ends[1] ?? '');
  if (from > to && !toSunday) throw createCronFault(field, `the range ${quoteText(span)} runs backwards`);
}

const special: Record<string, string> = {
  L: 'L (the last one)',
  W: 'W (the nearest weekday)',
  '#': '# (the nth weekday)',
  '?': '? (no value)',
  H: 'H (a hashed value)',
};

function parseFieldValue(field: Field, text: string, item: string): number {
  if (/^\d{1,2}$/.test(text)) {
    const value = Number(text);
    if (value < field.min || value > field.max) {
      throw createCronFault(field, `${value} is not within ${field.min}–${field.max}`);
    }
    return value;
  }
  const named = field.names?.indexOf(text.toUpperCase()) ?? -1;
  if (named >= 0) return named + field.min;
  if (text === '') throw createCronFault(field, `${quoteText(item)} lacks a value`);
  const unsupported = /[#?]/.exec(text)?.[0] ?? /^\d*([LWH])(?:$|\d|\()/i.exec(text)?.[1]?.toUpperCase();
  if (unsupported) throw createCronFault(field, `${special[unsupported]} is not supported`);
  throw createCronFault(
    field,
    `${quoteText(text)} is not a number of one or two digits${field.names ? ` or a name such as ${field.names[0]}` : ''}`,
  );
}

function createCronFault(field: Field, reason: string): CronFault {
  return new CronFault(`${field.name}: ${reason}`);
}

function quoteText(text: string): string {
  return `“${text.length > 40 ? `${text.slice(0, 40)}…` : text}”`;
}
