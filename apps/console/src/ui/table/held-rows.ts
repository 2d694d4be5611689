import { createContext, use, useCallback, useEffect, useState } from 'react';

/** Says that rows are to stay; the answer says that they need no longer. */
const Hold = createContext<(() => () => void) | undefined>(undefined);
export const HoldRows = Hold.Provider;

/** While something is open in a row, or written into it, the rows around it do not go from under it. */
export function useHoldRows(isHeld: boolean): void {
  const hold = use(Hold);
  useEffect(() => (isHeld ? hold?.() : undefined), [isHeld, hold]);
}

interface Held<T> {
  /** As they are shown. */
  rows: T[];
  /** As the list had them last. */
  listed: T[];
  /** What was asked for when they were held. */
  asked: string;
}

/**
 * The rows of a list that renews itself. While they are held each stays in its place, as it is now or as it was last;
 * what is new comes after them. Whoever asks for other rows gets those.
 */
export function useHeldRows<T>(listed: T[], rowId: (row: T) => string, asked: string) {
  const [holders, setHolders] = useState(0);
  const [held, setHeld] = useState<Held<T> | null>(null);
  if (holders === 0 && held) setHeld(null);
  else if (holders > 0 && !held) setHeld({ rows: listed, listed, asked });
  else if (held && held.listed !== listed) setHeld({ ...held, rows: withPlaces(held.rows, listed, rowId), listed });
  const hold = useCallback(() => {
    setHolders((count) => count + 1);
    return () => setHolders((count) => count - 1);
  }, []);
  return { rows: held?.asked === asked ? held.rows : listed, hold };
}

function withPlaces<T>(held: T[], listed: T[], rowId: (row: T) => string): T[] {
  const now = new Map(listed.map((row) => [rowId(row), row]));
  const kept = held.map((row) => {
    const id = rowId(row);
    const latest = now.get(id) ?? row;
    now.delete(id);
    return latest;
  });
  return [...kept, ...now.values()];
}
