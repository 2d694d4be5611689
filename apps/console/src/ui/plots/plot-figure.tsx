import type { ReactNode } from 'react';
import { PlainTable } from '../table/plain-table';

interface PlotFigureProps {
  /** Accessible name of the figure and its table. */
  label: string;
  /** How to read the plot, without relying on its colors. */
  caption: ReactNode;
  heads: readonly string[];
  /** Rows of the table that shows the data of the plot. */
  rows: ReactNode;
  /** Element that draws the plot. */
  children: ReactNode;
}

/** A plot with its caption, and with its data as a table that opens on request. */
export function PlotFigure({ label, caption, heads, rows, children }: PlotFigureProps) {
  return (
    <figure aria-label={label} className="min-w-0">
      {children}
      <figcaption className="mt-1 text-xs text-dim">{caption}</figcaption>
      <details className="mt-1.5">
        <summary className="w-fit text-xs text-dim hover:text-ink">Show as table</summary>
        <div className="mt-2 max-h-96 overflow-y-auto">
          <PlainTable label={label} heads={heads}>
            {rows}
          </PlainTable>
        </div>
      </details>
    </figure>
  );
}
