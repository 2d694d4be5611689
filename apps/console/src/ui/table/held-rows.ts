import { createContext, use, useCallback, useEffect, useState } from 'react';

/** Keeps the rows of a list in their positions; returns a function that ends this. */
const Hold = createContext<(() => () => void) | undefined>(undefined);
export const HoldRows = Hold.Provider;

/** Holds the rows in their places while a menu, dialog or edited field of a row is open. */
export function useHoldTableRows(isHeld: boolean): void {
  const hold = use(Hold);
  useEffect(() => (isHeld ? hold?.() : undefined), [isHeld, hold]);
}

interface Held<T> {
  /** Displayed rows. */
  rows: T[];
  /** Latest rows of the list. */
  listed: T[];
  /** Filters and order of the list when its rows were held in place. */
  filters: string;
}

/**
 * The rows of a list that is refetched. While they are held, each row stays in its place with its latest content, even
 * if it has left the list, and new rows are appended. A change of the filters or the order ends the hold.
 */
export function useRowsInHeldOrder<T>(listed: T[], rowId: (row: T) => string, filters: string) {
  const [holders, setHolders] = useState(0);
  const [held, setHeld] = useState<Held<T> | null>(null);
  if (holders === 0 && held) setHeld(null);
  else if (holders > 0 && !held) setHeld({ rows: listed, listed, filters });
  else if (held && held.listed !== listed)
    setHeld({ ...held, rows: mergeKeepingOrder(held.rows, listed, rowId), listed });
  const hold = useCallback(() => {
    setHolders((count) => count + 1);
    return () => setHolders((count) => count - 1);
  }, []);
  return { rows: held?.filters === filters ? held.rows : listed, hold };
}

function mergeKeepingOrder<T>(held: T[], listed: T[], rowId: (row: T) => string): T[] {
  const now = new Map(listed.map((row) => [rowId(row), row]));
  const inOrder = held.map((row) => {
    const id = rowId(row);
    const latest = now.get(id) ?? row;
    now.delete(id);
    return latest;
  });
  return [...inOrder, ...now.values()];
}
