import type { ReactNode } from 'react';

interface CardProps {
  /** Name of the resource. */
  title: ReactNode;
  /** Content at the end of the first line, such as the status. */
  aside?: ReactNode;
  /** Other values of the row; empty values are omitted. */
  facts?: ReactNode[];
  /** Buttons on the second line. */
  buttons?: ReactNode;
}

/** A table row as two lines, for windows that are too narrow for columns. */
export function TableCard({ title, aside, facts = [], buttons }: CardProps) {
  const shown = facts.filter((fact) => fact !== null && fact !== undefined && fact !== false && fact !== '');
  return (
    <div className="min-w-0 whitespace-normal">
      <div className="flex items-baseline justify-between gap-2">
        <div className="min-w-0 truncate whitespace-nowrap">{title}</div>
        <div className="shrink-0 text-xs">{aside}</div>
      </div>
      {buttons && <div className="mt-1 flex gap-1.5">{buttons}</div>}
      <div className="line-clamp-2 text-xs [overflow-wrap:anywhere] text-dim">
        {shown.map((fact, at) => (
          <span key={at}>
            {at > 0 && ' · '}
            {fact}
          </span>
        ))}
      </div>
    </div>
  );
}
