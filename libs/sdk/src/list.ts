interface Page {
  nextCursor: string | null;
}

type FetchPage<P extends Page> = (cursor: { cursor?: string }) => Promise<P>;

/** A list of the API. `for await` iterates over all items and fetches each page only when it is needed. */
export class List<T, P extends Page = Page> implements AsyncIterable<T> {
  constructor(
    private readonly fetchPage: FetchPage<P>,
    private readonly itemsOf: (page: P) => T[],
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* this.itemsOf(page);
  }

  /** Iterates over the pages, as the API returns them. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    let cursor: string | undefined;
    do {
      const page = await this.fetchPage(cursor === undefined ? {} : { cursor });
      yield page;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** Returns the first `max` items, by default all. */
  async toArray(max = Infinity): Promise<T[]> {
    const items: T[] = [];
    if (max <= 0) return items;
    for await (const item of this) {
      items.push(item);
      if (items.length >= max) break;
    }
    return items;
  }
}
