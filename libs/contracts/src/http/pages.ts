import { QueryIntField, TextField } from './fields';

export const listOrders = ['desc', 'asc'] as const;

export const PageLimit = () =>
  QueryIntField({
    optional: true,
    min: 1,
    max: 200,
    description: 'Maximum number of items in the response; 50 if absent.',
  });

export const PageCursor = () =>
  TextField({
    optional: true,
    max: 2000,
    description:
      'Value of nextCursor in the previous response, for the same filters and order. A response may contain fewer ' +
      'items than the limit, or none, although more follow. The list ends when nextCursor is null.',
  });

/** Query parameters of every list. */
export class PageQuery {
  @PageLimit() limit?: number;
  @PageCursor() cursor?: string;
}

/** Query parameters of a list that can be searched by name. */
export class SearchQuery extends PageQuery {
  @TextField({ optional: true, max: 200, description: 'Part of the name, case-insensitive.' }) q?: string;
}
