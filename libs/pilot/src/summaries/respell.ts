import { isDeepStrictEqual } from 'node:util';
import { type Faults, fieldNamesOf } from '@muster/contracts';
import { isLarger } from './measure';

export interface Respelled {
  /** What the class knows, in camelCase. */
  known: Record<string, unknown>;
  /** The rest, as it came. */
  unknown: Record<string, unknown>;
}

/** The keys of an object in the spelling of a class; one that comes in both spellings has to say the same in both. */
export function respell(
  type: { prototype: object },
  given: Record<string, unknown>,
  { faults, path }: { faults: Faults; path: string },
): Respelled {
  const names = namesOf(type);
  const [known, unknown]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  for (const key in given) {
    if (faults.full) break;
    const name = names.get(key);
    if (name === undefined) unknown[key] = given[key];
    else if (!Object.hasOwn(known, name)) known[name] = given[key];
    else if (!isSame(known[name], given[key])) {
      faults.add(
        path ? `${path}.${name}` : name,
        `${name} is given in two spellings that differ, or are too large to compare`,
      );
    }
  }
  return { known, unknown };
}

/** Who says something large twice is not compared with himself: that takes longer than others can wait. */
const maxComparedBytes = 256 * 1024;

function isSame(one: unknown, other: unknown): boolean {
  return !isLarger(one, maxComparedBytes) && !isLarger(other, maxComparedBytes) && isDeepStrictEqual(one, other);
}

const spellings = new WeakMap<object, Map<string, string>>();

function namesOf(type: { prototype: object }): Map<string, string> {
  const known = spellings.get(type);
  if (known) return known;
  const names = new Map(
    fieldNamesOf(type).flatMap((name) => [
      [name, name],
      [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name],
    ]),
  );
  spellings.set(type, names);
  return names;
}
