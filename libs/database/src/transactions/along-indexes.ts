import type { Statement } from './statement-batch';

/**
 * For a page of a table that grows faster than Postgres counts it: of rows that it takes for a few it would fetch and
 * sort all, page after page, where an index has them in order.
 */
export const alongIndexes: Statement = {
  name: 'muster_along_indexes',
  text: "SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)",
};

/**
 * For statements over a set of rows whose keys are known: they are found one by one, by their keys, however few rows
 * Postgres takes the table to have when it makes the plan that it keeps. And it keeps it, though for a set of one it would
 * plan each time anew, as it takes an array that it does not know for one of ten.
 */
export const alongKeys: Statement = {
  name: 'muster_along_keys',
  text: `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
                set_config('enable_mergejoin', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)`,
};

/** As alongIndexes, among statements that search by bitmaps: of an order that an index has, nothing is sorted. */
export const unsorted: Statement = {
  name: 'muster_unsorted',
  text: "SELECT set_config('enable_sort', 'off', true)",
};
