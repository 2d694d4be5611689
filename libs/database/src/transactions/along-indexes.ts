import type { Statement } from './statement-batch';

/**
 * For a page of a table that grows faster than Postgres counts it: of rows that it takes for a few it would fetch and
 * sort all, page after page, where an index has them in order.
 */
export const alongIndexes: Statement = {
  name: 'muster_along_indexes',
  text: "SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)",
};
