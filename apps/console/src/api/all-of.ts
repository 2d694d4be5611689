const pageSize = 200;
/** More than one looks through: whoever has so many begins at the thing itself. */
const most = 1000;

type Read<T> = (page: { limit: number; cursor?: string }) => Promise<{ items: T[]; nextCursor: string | null }>;

export interface Found<T> {
  items: T[];
  /** There are some that were not looked at. */
  isMore: boolean;
}

/** Page after page of a list, for what is not shown page by page. */
export function allOf<T>(read: Read<T>): Promise<Found<T>> {
  return firstOf(most, read);
}

/**
 * So many of a list. The API answers what it has found in a part of the list, which may be none of what is asked for
 * while there is more behind it: it is asked on, as often as is said.
 */
export async function firstOf<T>(count: number, read: Read<T>, { pages = Infinity } = {}): Promise<Found<T>> {
  const found: T[] = [];
  let cursor: string | undefined;
  for (let asked = 1; ; asked += 1) {
    const limit = Math.min(pageSize, count - found.length);
    const { items, nextCursor } = await read({ limit, ...(cursor ? { cursor } : {}) });
    found.push(...items);
    cursor = nextCursor ?? undefined;
    if (cursor === undefined || found.length >= count || asked >= pages) break;
  }
  return { items: found, isMore: cursor !== undefined };
}
