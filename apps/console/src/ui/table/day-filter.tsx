import { inputClass } from '../form';
import { useDelayedText } from './use-typed';
import { useUrlState } from './use-url-state';

const pauseMs = 500;

/** Filter by a day in the viewer's time zone. The address contains the time of its start, or with `ends` of its end. */
export function DayFilter({ name, label, ends = false }: { name: string; label: string; ends?: boolean }) {
  const [state, change] = useUrlState();
  const moment = new Date(Date.parse(state[name] ?? ''));
  const day = Number.isNaN(moment.getTime()) ? '' : formatDay(moment);
  const saveDay = (typed: string) => {
    // While a year is typed, the browser reports years such as 0002. Wait until the year is complete.
    if (typed && !/^[12]\d{3}-/.test(typed)) return;
    change({ [name]: typed && new Date(`${typed}T${ends ? '23:59:59.999' : '00:00:00'}`).toISOString() });
  };
  const [text, type] = useDelayedText(day, saveDay, pauseMs);
  return (
    <label className="flex items-center gap-1.5">
      <span className="whitespace-nowrap text-dim">{label}</span>
      <input
        type="date"
        className={`${inputClass} w-auto`}
        value={text}
        onChange={({ target }) => type(target.value)}
      />
    </label>
  );
}

function formatDay(at: Date): string {
  const padTwoDigits = (value: number) => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${padTwoDigits(at.getMonth() + 1)}-${padTwoDigits(at.getDate())}`;
}
