import { Search } from 'lucide-react';
import { inputClass } from './form';
import { useDelayedText } from './table/use-typed';

const pauseMs = 250;

interface SearchBoxProps {
  label: string;
  value: string;
  change: (text: string) => void;
}

/** Search field that searches once typing pauses. `/` focuses the first one on a page. */
export function SearchBox({ label, value, change }: SearchBoxProps) {
  const [text, type] = useDelayedText(value, change, pauseMs);
  return (
    <div className="relative w-full sm:w-72">
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-dim" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        aria-keyshortcuts="/"
        value={text}
        maxLength={100}
        className={`${inputClass} pl-8`}
        onChange={({ target }) => type(target.value)}
      />
    </div>
  );
}
