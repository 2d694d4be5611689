import { useId } from 'react';
import { inputClass } from '../form';

interface FilterSelectProps {
  label: string;
  value: string;
  options: readonly (string | { value: string; label: string })[];
  /** Label of the choice without a filter; without it one of the options is always chosen. */
  all?: string;
  change: (value: string) => void;
}

/** Select box of a filter. The label does not wrap the select, whose name would then include its options. */
export function FilterSelect({ label, value, options, all, change }: FilterSelectProps) {
  const id = useId();
  return (
    <div className="flex items-center gap-1.5">
      <label htmlFor={id} className="whitespace-nowrap text-dim max-sm:min-w-18">
        {label}
      </label>
      <select
        id={id}
        className={`${inputClass} w-auto max-w-60`}
        value={value}
        onChange={({ target }) => change(target.value)}
      >
        {all !== undefined && <option value="">{all}</option>}
        {options.map((option) => {
          const { value: each, label: text } = typeof option === 'string' ? { value: option, label: option } : option;
          return (
            <option key={each} value={each}>
              {text}
            </option>
          );
        })}
      </select>
    </div>
  );
}
