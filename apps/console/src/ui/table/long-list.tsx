import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useRef } from 'react';

interface LongListProps<T> {
  label: string;
  items: readonly T[];
  row: (item: T) => ReactNode;
}

/** A list of thousands of items in its own scroll area; only the visible items are in the document. */
export function LongList<T>({ label, items, row }: LongListProps<T>) {
  const frame = useRef<HTMLDivElement>(null);
  const inSight = useVirtualizer({
    count: items.length,
    getScrollElement: () => frame.current,
    estimateSize: () => 28,
    overscan: 10,
  });
  return (
    <div ref={frame} tabIndex={0} role="region" aria-label={label} className="max-h-60 overflow-y-auto">
      <ul className="relative" style={{ height: inSight.getTotalSize() }}>
        {inSight.getVirtualItems().map(({ index, key, start }) => (
          <li
            key={key}
            ref={inSight.measureElement}
            data-index={index}
            aria-setsize={items.length}
            aria-posinset={index + 1}
            className="absolute inset-x-0 top-0 border-b border-line py-1"
            style={{ transform: `translateY(${start}px)` }}
          >
            {row(items[index]!)}
          </li>
        ))}
      </ul>
    </div>
  );
}
