import { useMutation } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useEffect, useId, useRef, useState } from 'react';
import { ApiError, isApiError } from '../api/api-error';
import { Button } from './button';
import { DialogActions } from './dialog';
import { ErrorNote } from './error-note';

/** Validation errors of single fields in the service's response. */
const Faults = createContext<{ field: string; message: string }[]>([]);

interface FormProps<A> {
  /** Label of the submit button. */
  submit: string;
  onSubmit: (values: Values) => Promise<A>;
  onDone?: (answer: A) => void;
  /** Additional buttons, before the submit button. */
  actions?: ReactNode;
  danger?: boolean;
  children: ReactNode;
}

/** Values of a form's fields at submission. */
export class Values {
  constructor(private readonly data: FormData) {}

  readText(name: string): string {
    const value = this.data.get(name);
    return typeof value === 'string' ? value.trim() : '';
  }

  /** Returns a text untrimmed, because leading and trailing spaces may belong to a password or a script. */
  readExactText(name: string): string {
    const value = this.data.get(name);
    return typeof value === 'string' ? value : '';
  }

  /** Returns the texts of all fields whose names start with `prefix`, by the rest of their names. */
  readTexts(prefix: string): Record<string, string> {
    const names = [...this.data.keys()].filter((name) => name.startsWith(prefix));
    return Object.fromEntries(names.map((name) => [name.slice(prefix.length), this.readExactText(name)]));
  }

  readAll(name: string): string[] {
    return this.data.getAll(name).filter((value) => typeof value === 'string');
  }

  /** Null if the field is empty. */
  readNumber(name: string): number | null {
    const text = this.readText(name);
    return text === '' ? null : Number(text);
  }

  readFlag(name: string): boolean {
    return this.data.get(name) !== null;
  }

  readFile(name: string): File | null {
    const value = this.data.get(name);
    return value instanceof File && value.size > 0 ? value : null;
  }

  /** Parses a JSON object. Throws an error of the field if the text is not one. */
  readJson(name: string): Record<string, unknown> {
    const value = parseJson(this.readText(name) || '{}');
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    const fault = { field: name, message: 'The value must be a JSON object.' };
    throw new ApiError(400, {
      code: 'invalid_payload',
      detail: 'One of the fields is not valid. Correct it and try again.',
      errors: [fault],
    });
  }

  readFiles(name: string): File[] {
    return this.data.getAll(name).filter((value) => value instanceof File);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The form of the console. If the service rejects it, what was typed stays and each error is shown below its field. */
export function Form<A>({ submit, onSubmit, onDone, actions, danger, children }: FormProps<A>) {
  // A ref and not a state, because a state changes only with the next render, and a double click must submit only once.
  const isSending = useRef(false);
  const sending = useMutation({
    mutationFn: onSubmit,
    onSuccess: onDone,
    onSettled: () => void (isSending.current = false),
  });
  const faults = isApiError(sending.error) ? sending.error.fields : [];
  return (
    <form
      className="flex flex-col gap-3.5"
      onSubmit={(event) => {
        event.preventDefault();
        if (isSending.current) return;
        isSending.current = true;
        sending.mutate(new Values(new FormData(event.currentTarget)));
      }}
    >
      <Faults value={faults}>{children}</Faults>
      {sending.isError && <ErrorNote error={sending.error} />}
      <DialogActions>
        {actions}
        <Button type="submit" look={danger ? 'danger' : 'primary'} busy={sending.isPending}>
          {submit}
        </Button>
      </DialogActions>
    </form>
  );
}

export const inputClass = `min-h-8 w-full rounded-control border border-edge bg-surface px-2.5 py-1 text-ink
  placeholder:text-dim aria-invalid:border-bad`;

interface FieldProps {
  label: string;
  hint?: ReactNode;
  /** Name of the field in the API, which identifies its validation errors. */
  name: string;
  children: (control: { id: string; name: string; 'aria-invalid'?: true; 'aria-describedby'?: string }) => ReactNode;
}

/** A control with its label, hint and validation errors. */
export function Field({ label, hint, name, children }: FieldProps) {
  const id = useId();
  const faults = use(Faults).filter(({ field }) => field === name || field.startsWith(`${name}.`));
  const described = [hint && `${id}-hint`, faults.length > 0 && `${id}-fault`].filter(Boolean).join(' ');
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children({
        id,
        name,
        ...(faults.length > 0 ? { 'aria-invalid': true as const } : {}),
        ...(described ? { 'aria-describedby': described } : {}),
      })}
      {hint && (
        <p id={`${id}-hint`} className="text-xs text-dim">
          {hint}
        </p>
      )}
      {faults.length > 0 && (
        <p id={`${id}-fault`} className="text-xs text-bad">
          {faults.map(({ message }) => message).join(' ')}
        </p>
      )}
    </div>
  );
}

type TextProps = Omit<React.InputHTMLAttributes<HTMLInputElement>, 'name' | 'id'> &
  Pick<FieldProps, 'label' | 'hint' | 'name'>;

export function TextField({ label, hint, name, ...input }: TextProps) {
  return (
    <Field label={label} hint={hint} name={name}>
      {(control) => <input {...control} {...input} className={inputClass} />}
    </Field>
  );
}

type AreaProps = Omit<React.TextareaHTMLAttributes<HTMLTextAreaElement>, 'name' | 'id'> &
  Pick<FieldProps, 'label' | 'hint' | 'name'>;

export function TextAreaField({ label, hint, name, rows = 4, ...area }: AreaProps) {
  return (
    <Field label={label} hint={hint} name={name}>
      {(control) => <textarea {...control} {...area} rows={rows} className={inputClass} />}
    </Field>
  );
}

interface CheckProps {
  label: string;
  name: string;
  initial: boolean;
}

export function CheckField({ label, name, initial }: CheckProps) {
  return (
    <label className="flex items-center gap-2 font-medium">
      <input type="checkbox" name={name} defaultChecked={initial} className="size-4 shrink-0" />
      {label}
    </label>
  );
}

type SelectProps = Omit<React.SelectHTMLAttributes<HTMLSelectElement>, 'name' | 'id'> &
  Pick<FieldProps, 'label' | 'hint' | 'name'> & { options: readonly (string | { value: string; label: string })[] };

export function SelectField({ label, hint, name, options, ...select }: SelectProps) {
  return (
    <Field label={label} hint={hint} name={name}>
      {(control) => (
        <select {...control} {...select} className={inputClass}>
          {options.map((option) => {
            const { value, label: text } = typeof option === 'string' ? { value: option, label: option } : option;
            return (
              <option key={value} value={value}>
                {text}
              </option>
            );
          })}
        </select>
      )}
    </Field>
  );
}

interface ChoiceProps extends Pick<FieldProps, 'label' | 'hint' | 'name'> {
  /** Current choices. They may arrive after the first render, and change. */
  choices: readonly Choice[];
  /** Initial value; without it and without `none`, the first choice. */
  initial?: string | null;
  /** Label of the empty choice. */
  none?: string;
  required?: boolean;
  /** Called with the value that the user has chosen. */
  choose?: (value: string) => void;
}

export interface Choice {
  value: string;
  label: string;
}

/** Select box with resources of the service. The chosen one stays chosen, even if the choices change or omit it. */
export function ChoiceField({ choices, initial, none, required, choose, ...field }: ChoiceProps) {
  const [chosen, setChosen] = useState<Choice | undefined>(initial ? { value: initial, label: initial } : undefined);
  const current = choices.find(({ value }) => value === chosen?.value);
  if (current && current.label !== chosen?.label) setChosen(current);
  if (!chosen && none === undefined && choices[0]) setChosen(choices[0]);
  const value = chosen?.value ?? '';
  useEffect(() => choose?.(value), [value, choose]);
  const offered = current || !chosen ? choices : [chosen, ...choices];
  return (
    <SelectField
      {...field}
      required={required}
      options={none === undefined ? offered : [{ value: '', label: none }, ...offered]}
      value={value}
      onChange={({ target }) => setChosen(offered.find((each) => each.value === target.value))}
    />
  );
}
