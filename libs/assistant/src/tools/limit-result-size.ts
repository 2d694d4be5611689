import { toStorableText } from '@muster/platform';

/** Maximum number of characters of a tool's result: for a model in a chat, and for a caller of manage. */
export const resultLimit = { chat: 12_000, manage: 1_500_000 };

const note = 'The answer is longer: this is a part of it.';
/** Cuts that are tried in order: the length of texts as a share of the limit, and the number of items of a list. */
const cuts: [share: number, items: number][] = [
  [2, 1000],
  [4, 100],
  [20, 50],
  [100, 20],
  [400, 10],
];

/** Returns the result, cut until its JSON has at most `limit` characters. Cut texts and results are marked. */
export function limitResultSize(result: Record<string, unknown>, limit: number): Record<string, unknown> {
  if (isResultWithinLimit(result, limit)) return result;
  for (const [share, items] of cuts) {
    const cut = { ...(shortenLongValues(result, Math.floor(limit / share), items) as object), cut: note };
    if (isResultWithinLimit(cut, limit)) return cut;
  }
  return { cut: `The answer has ${JSON.stringify(result).length} characters, which is too long to show.` };
}

function isResultWithinLimit(value: object, limit: number): boolean {
  return JSON.stringify(value).length <= limit;
}

function shortenLongValues(value: unknown, maxLength: number, items: number): unknown {
  if (typeof value === 'string') {
    if (value.length <= maxLength) return value;
    return `${toStorableText(value.slice(0, maxLength))}… [cut: it has ${value.length} characters]`;
  }
  if (Array.isArray(value))
    return value.slice(0, items).map((each: unknown) => shortenLongValues(each, maxLength, items));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).slice(0, Math.max(items, 50));
  return Object.fromEntries(
    members.map(([key, each]) => [key.slice(0, 200), shortenLongValues(each, maxLength, items)]),
  );
}
