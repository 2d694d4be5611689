import { Plus, X } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { Button, IconButton } from '../../ui/button';

interface RowsFieldProps<T> {
  legend: string;
  /** Name of one row in the labels of the buttons. */
  noun: string;
  initial: readonly T[];
  maxRows: number;
  hint: ReactNode;
  /** Fields of the row at a position. A row that was just added has no value. */
  fieldsOf: (row: Partial<T>, at: number) => ReactNode;
}

/** A list of rows in a form, to which rows can be added and from which they can be removed. */
export function RowsField<T extends object>({ legend, noun, initial, maxRows, hint, fieldsOf }: RowsFieldProps<T>) {
  const [rows, setRows] = useState(() => initial.map((row: Partial<T>, id) => ({ row, id })));
  const hintId = useId();
  const addRow = () => setRows([...rows, { id: Math.max(-1, ...rows.map(({ id }) => id)) + 1, row: {} }]);
  return (
    <fieldset className="flex flex-col gap-2 sm:col-span-full" aria-describedby={hintId}>
      <legend className="mb-1 font-medium">{legend}</legend>
      {rows.map(({ id, row }, at) => (
        <div key={id} className="flex items-end gap-2">
          {fieldsOf(row, at)}
          <IconButton label={`Remove this ${noun}`} onClick={() => setRows(rows.filter((one) => one.id !== id))}>
            <X aria-hidden className="size-4" />
          </IconButton>
        </div>
      ))}
      {rows.length < maxRows && (
        <div>
          <Button type="button" onClick={addRow}>
            <Plus aria-hidden className="size-4" />
            Add {noun}
          </Button>
        </div>
      )}
      <p id={hintId} className="text-xs text-dim">
        {hint}
      </p>
    </fieldset>
  );
}
