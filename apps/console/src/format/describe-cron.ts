/**
 * Describes a cron expression in words: "At 06:00, Monday to Friday." Null if it is not valid; the service returns the
 * error. The service also computes the times, which depend on clock changes.
 */
export function describeCron(expression: string): string | null {
  const parts = expression.trim().toUpperCase().split(/\s+/);
  if (parts.length !== 5) return null;
  const read = fields.map((field, at) => parseField(parts[at]!, field));
  if (read.some((field) => field === null)) return null;
  const [minute, hour, day, month, weekday] = read as [Items, Items, Items, Items, Items];
  const words = [describeTimes(minute, hour), describeDays(day, weekday), describeMonths(month)]
    .filter(Boolean)
    .join(', ');
  return `${words[0]!.toUpperCase()}${words.slice(1)}.`;
}

interface Item {
  from: number;
  to: number;
  step: number;
  isAll: boolean;
}
type Items = Item[];

interface Field {
  min: number;
  max: number;
  names?: readonly string[];
}

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const fields: readonly Field[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 7, names: weekdays },
];
/** Maximum number of times of day that are listed one by one. */
const mostTimes = 6;

function parseField(text: string, field: Field): Items | null {
  const items = text.split(',').map((item) => parseItem(item, field));
  return items.some((item) => item === null) ? null : (items as Items);
}

function parseItem(text: string, { min, max, names }: Field): Item | null {
  const [, span, stepText] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const step = stepText === undefined ? 1 : Number(stepText);
  if (span === undefined || step < 1) return null;
  if (span === '*') return { from: min, to: names === weekdays ? 6 : max, step, isAll: true };
  const [low, high, ...more] = span.split('-').map((end) => parseValue(end, min, names));
  if (low === undefined || more.length > 0) return null;
  const from = low;
  const to = high ?? (stepText === undefined ? from : max);
  if (![from, to].every((value) => value >= min && value <= max) || from > to) return null;
  return { from, to, step, isAll: false };
}

/** NaN if the text is neither a number nor a name. */
function parseValue(text: string, min: number, names: readonly string[] | undefined): number {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const at = names?.findIndex((name) => name.slice(0, 3).toUpperCase() === text) ?? -1;
  return at < 0 ? Number.NaN : at + min;
}

function describeTimes(minute: Items, hour: Items): string {
  const minutes = listValues(minute);
  const hours = listValues(hour);
  const [everyMinutes, everyHours] = [getStep(minute), getStep(hour)];
  if (everyMinutes === null && everyHours === null && minutes.length * hours.length <= mostTimes) {
    return `at ${joinWords(hours.flatMap((each) => minutes.map((m) => `${padTwoDigits(each)}:${padTwoDigits(m)}`)))}`;
  }
  if (everyHours === 1) {
    if (everyMinutes !== null) return everyMinutes === 1 ? 'every minute' : `every ${everyMinutes} minutes`;
    return minutes.length === 1 && minutes[0] === 0
      ? 'every hour, on the hour'
      : `every hour, ${describeMinutes(minutes)}`;
  }
  const often =
    everyMinutes === null
      ? describeMinutes(minutes)
      : everyMinutes === 1
        ? 'every minute'
        : `every ${everyMinutes} minutes`;
  if (everyHours !== null) return `every ${everyHours} hours, ${often}`;
  const [only] = hour;
  if (hour.length === 1 && only!.step === 1 && only!.to > only!.from) {
    return everyMinutes === null
      ? `every hour from ${padTwoDigits(only!.from)}:00 to ${padTwoDigits(only!.to)}:59, ${often}`
      : `${often} from ${padTwoDigits(only!.from)}:00 to ${padTwoDigits(only!.to)}:59`;
  }
  return `${often} in the hours of ${joinWords(hours.map((each) => `${padTwoDigits(each)}:00`))}`;
}

function describeMinutes(minutes: number[]): string {
  return `at ${minutes.length === 1 ? 'minute' : 'minutes'} ${joinWords(minutes.map(String))}`;
}

/** If both day fields are restricted, a day must match only one of them, unless one of them is a `*` with a step. */
function describeDays(day: Items, weekday: Items): string {
  const isAnyDay = getStep(day) === 1;
  const isAnyWeekday = getStep(weekday) === 1;
  if (isAnyDay && isAnyWeekday) return 'every day';
  const ofMonth = isAnyDay ? '' : describeMonthDays(day);
  const ofWeek = isAnyWeekday ? '' : describeWeekdays(weekday);
  if (!ofMonth || !ofWeek) return ofMonth || ofWeek;
  const isBoth = [...day, ...weekday].some(({ isAll }) => isAll);
  return isBoth ? `${ofMonth} if it is ${ofWeek}` : `${ofMonth}, or on ${ofWeek}`;
}

function describeMonthDays(day: Items): string {
  const step = getStep(day);
  if (step !== null) return `every ${formatOrdinal(step)} day of the month, from the 1st`;
  return `on the ${joinWords(describeSpans(day, formatOrdinal))} of the month`;
}

function describeWeekdays(weekday: Items): string {
  return joinWords(describeSpans(weekday, (value) => weekdays[value % 7]!));
}

function describeMonths(month: Items): string {
  const step = getStep(month);
  if (step === 1) return '';
  if (step !== null) return `every ${formatOrdinal(step)} month, from January`;
  return `in ${joinWords(describeSpans(month, (value) => months[value - 1]!))}`;
}

/** Step of a field that is only `*`; null for all other fields. */
function getStep([item, ...more]: Items): number | null {
  return item!.isAll && more.length === 0 ? item!.step : null;
}

function listValues(items: Items): number[] {
  const values = items.flatMap(({ from, to, step }) =>
    Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, at) => from + at * step),
  );
  return [...new Set(values)].sort((a, b) => a - b);
}

/** Describes each item: a range of one or two values as a list, a longer range as "… to …". */
function describeSpans(items: Items, word: (value: number) => string): string[] {
  return items.flatMap((item) => {
    const { from, to, step } = item;
    if (step === 1 && to - from > 1) return [`${word(from)} to ${word(to)}`];
    return listValues([item]).map(word);
  });
}

function joinWords(words: string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

function formatOrdinal(value: number): string {
  const teen = value % 100 > 10 && value % 100 < 14;
  return `${value}${teen ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th')}`;
}

function padTwoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
