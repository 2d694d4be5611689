import { inputClass } from '../form';
import { useTyped } from './use-typed';
import { useUrlState } from './use-url-state';

const pauseMs = 300;

interface FilterFieldProps {
  /** The API's parameter, in the address too. */
  name: string;
  label: string;
  type?: 'text' | 'date';
  placeholder?: string;
}

/** A filter that is typed: it is in the address once typing pauses. */
export function FilterField({ name, label, type = 'text', placeholder }: FilterFieldProps) {
  const [state, change] = useUrlState();
  const [text, write] = useTyped(state[name] ?? '', (value) => change({ [name]: value }, { isTyped: true }), pauseMs);
  return (
    <label className="flex items-center gap-1.5">
      <span className="whitespace-nowrap text-dim">{label}</span>
      <input
        type={type}
        placeholder={placeholder}
        maxLength={100}
        value={text}
        className={`${inputClass} ${type === 'date' ? 'w-auto' : 'w-40'}`}
        onChange={({ target }) => write(target.value)}
      />
    </label>
  );
}
