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
export async function allOf<T>(read: Read<T>): Promise<Found<T>> {
  const found: T[] = [];
  let cursor: string | undefined;
  do {
    const { items, nextCursor } = await read({ limit: pageSize, ...(cursor ? { cursor } : {}) });
    found.push(...items);
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined && found.length < most);
  return { items: found, isMore: cursor !== undefined };
}
