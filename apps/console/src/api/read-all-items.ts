const pageSize = 200;
/** Maximum number of items to read; a longer list is too long to choose from. */
const most = 1000;

type Read<T> = (page: { limit: number; cursor?: string }) => Promise<{ items: T[]; nextCursor: string | null }>;

export interface Found<T> {
  items: T[];
  /** Whether the list has more items than were read. */
  isMore: boolean;
}

/** Reads up to 1,000 items of a list, for controls that do not show it page by page. */
export function readAllItems<T>(read: Read<T>): Promise<Found<T>> {
  return readFirstItems(most, read);
}

/**
 * Reads the first `count` items of a list, in at most `pages` requests. A page of the API covers a part of the list and
 * can be empty although later parts contain matches, so the next page is requested.
 */
export async function readFirstItems<T>(count: number, read: Read<T>, { pages = Infinity } = {}): Promise<Found<T>> {
  const found: T[] = [];
  let cursor: string | undefined;
  for (let requestCount = 1; ; requestCount += 1) {
    const limit = Math.min(pageSize, count - found.length);
    const { items, nextCursor } = await read({ limit, ...(cursor ? { cursor } : {}) });
    found.push(...items);
    cursor = nextCursor ?? undefined;
    if (cursor === undefined || found.length >= count || requestCount >= pages) break;
  }
  return { items: found, isMore: cursor !== undefined };
}
