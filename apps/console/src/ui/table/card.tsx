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

interface CardRowProps extends CardProps {
  /** Button that opens the menu of the row's actions; undefined if the list has no column for it. */
  actions?: ReactNode;
}

/** A row of a short list as a card. The cell's width does not depend on its content, so that long names are cut off. */
export function CardRow({ actions, ...card }: CardRowProps) {
  return (
    <tr>
      <td className="w-full max-w-0 [&_bdi]:inline!">
        <TableCard {...card} />
      </td>
      {actions !== undefined && <td>{actions}</td>}
    </tr>
  );
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
