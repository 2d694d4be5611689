import { QueryIntField, TextField } from './fields';

export const listOrders = ['desc', 'asc'] as const;

/** What every list takes. */
export class PageQuery {
  @QueryIntField({ optional: true, min: 1, max: 200, description: 'How many to answer; 50 when absent.' })
  limit?: number;

  @TextField({
    optional: true,
    max: 2000,
    description:
      "The previous answer's nextCursor, for the same filters and order. An answer may have fewer than asked for, or " +
      'none, and more behind it: the list ends where nextCursor is null.',
  })
  cursor?: string;
}

/** Of a list whose rows are known by what they are called. */
export class SearchQuery extends PageQuery {
  @TextField({ optional: true, max: 200, description: 'A part of what it is called, in any case.' }) q?: string;
}
