const upper = Array.from({ length: 16 }, (_, at) => at + 1);
const lower = Array.from({ length: 16 }, (_, at) => 32 - at);

/** Checkbox for each tooth by its ADA number, arranged as seen from the front. */
export function TeethField() {
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 font-medium">Teeth</legend>
      <div className="flex flex-col gap-1">
        {[upper, lower].map((teeth) => (
          <div key={teeth[0]} className="grid grid-cols-8 gap-1">
            {teeth.map((tooth) => (
              <label
                key={tooth}
                className="relative flex min-h-8 items-center justify-center rounded-control border border-edge bg-surface
                  tabular-nums has-checked:border-accent has-checked:bg-accent has-checked:text-on-accent has-focus-visible:outline-2
                  has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
              >
                <input
                  type="checkbox"
                  name="teeth"
                  value={tooth}
                  aria-label={`Tooth ${tooth}`}
                  className="absolute inset-0 size-full cursor-pointer opacity-0"
                />
                <span aria-hidden>{tooth}</span>
              </label>
            ))}
          </div>
        ))}
      </div>
      <p className="mt-1 text-xs text-dim">
        Upper jaw: 1 to 16. Lower jaw: 32 to 17. The composite shows the teeth in this order.
      </p>
    </fieldset>
  );
}

export function parseTeeth(values: string[]): number[] {
  return values.map(Number);
}
