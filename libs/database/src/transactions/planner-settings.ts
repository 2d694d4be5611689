import type { Statement } from './statement-batch';

/**
 * Setting for reading a page of a table that grows faster than its statistics. It makes Postgres use an index that has
 * the rows in order. Otherwise Postgres would expect few rows, and would fetch and sort all rows for every page.
 */
export const preferIndexOrder: Statement = {
  name: 'muster_prefer_index_order',
  text: "SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)",
};

/**
 * Settings for statements over a set of rows whose keys are known. They make Postgres find the rows one by one by their
 * keys, even if it expects a small table when it makes the generic plan. The generic plan is forced, because it seems
 * expensive for a set of one row: it assumes an array of ten elements. Without this setting, Postgres would make a new
 * plan each time.
 */
export const preferKeyIndexesSql = `set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
  set_config('enable_mergejoin', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)`;
export const preferKeyIndexes: Statement = { name: 'muster_along_keys', text: `SELECT ${preferKeyIndexesSql}` };

/**
 * Like `preferIndexOrder`, but allows bitmap scans for other statements. Rows that an index returns in order are not
 * sorted.
 */
export const avoidSortingSql = "set_config('enable_sort', 'off', true)";
export const avoidSorting: Statement = { name: 'muster_unsorted', text: `SELECT ${avoidSortingSql}` };
