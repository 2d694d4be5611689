import { webhookTypes } from '@muster/contracts/words';

interface EventsFieldProps {
  /** Types that are checked at first, if not all events are chosen. */
  initial: readonly string[];
  receivesAll: boolean;
  setReceivesAll: (receivesAll: boolean) => void;
}

/** Field with which a form chooses all events, or some types of events (`events` of the form's values). */
export function EventsField({ initial, receivesAll, setReceivesAll }: EventsFieldProps) {
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1 font-medium">Events</legend>
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          className="size-4 shrink-0"
          checked={receivesAll}
          onChange={({ target }) => setReceivesAll(target.checked)}
        />
        All events
      </label>
      {!receivesAll && (
        <div className="grid grid-cols-2 gap-x-3 gap-y-1.5 max-sm:grid-cols-1">
          {webhookTypes.map((type) => (
            <label key={type} className="flex items-center gap-2">
              <input
                type="checkbox"
                name="events"
                value={type}
                className="size-4 shrink-0"
                defaultChecked={initial.includes(type)}
              />
              {type}
            </label>
          ))}
        </div>
      )}
    </fieldset>
  );
}
