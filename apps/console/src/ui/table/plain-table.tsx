import type { ReactNode } from 'react';

interface PlainTableProps {
  /** Accessible name of the table. */
  label: string;
  heads: readonly string[];
  /** Rows of the table, as `tr` elements. */
  children: ReactNode;
}

/**
 * A table with few rows. Long names wrap; if it is still wider than its container, it scrolls horizontally. It is
 * positioned, because texts for screen readers are too, and would otherwise make the page itself scroll.
 */
export function PlainTable({ label, heads, children }: PlainTableProps) {
  return (
    <div className="relative overflow-x-auto" tabIndex={0} role="region" aria-label={label}>
      <table
        aria-label={label}
        className="w-full [&_td]:border-t [&_td]:border-line [&_td]:py-1.5 [&_td]:pr-4 [&_td_bdi]:inline-block [&_td_bdi]:max-w-md
          [&_td_bdi]:min-w-24 [&_td_bdi]:[overflow-wrap:anywhere] [&_th]:pr-4 max-sm:[&_td]:pr-2 max-sm:[&_th]:pr-2"
      >
        <thead className="text-left text-xs text-dim">
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col" className="pb-1.5 font-medium first-letter:uppercase">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
