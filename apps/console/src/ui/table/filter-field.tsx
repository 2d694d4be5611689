import { inputClass } from '../form';
import { useDelayedText } from './use-typed';
import { useUrlState } from './use-url-state';

const pauseMs = 300;

interface FilterFieldProps {
  /** Parameter of the API, also used in the address. */
  name: string;
  label: string;
  type?: 'text' | 'date';
  placeholder?: string;
}

/** Text filter that is written to the address once typing pauses. */
export function FilterField({ name, label, type = 'text', placeholder }: FilterFieldProps) {
  const [state, change] = useUrlState();
  const [text, write] = useDelayedText(
    state[name] ?? '',
    (value) => change({ [name]: value }, { isTyped: true }),
    pauseMs,
  );
  return (
    <label className="flex items-center gap-1.5 max-sm:w-full">
      <span className="whitespace-nowrap text-dim max-sm:min-w-18">{label}</span>
      <input
        type={type}
        placeholder={placeholder}
        maxLength={100}
        value={text}
        className={`${inputClass} ${type === 'date' ? 'w-auto' : 'w-40 max-sm:grow'}`}
        onChange={({ target }) => write(target.value)}
      />
    </label>
  );
}
