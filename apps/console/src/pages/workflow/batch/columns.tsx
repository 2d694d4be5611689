import { SelectField } from '../../../ui/form';

interface ColumnsProps {
  variables: readonly string[];
  heads: readonly string[];
  /** With each choice: variable to column. */
  onChoose: (mapping: Record<string, string> | undefined) => void;
}

/** Which column is which variable, asked where their names do not say it. */
export function Columns({ variables, heads, onChoose }: ColumnsProps) {
  if (heads.length === 0 || !isAsked(variables, heads)) return null;
  return (
    <fieldset
      className="flex flex-col gap-2.5 rounded-control border border-line p-3"
      onChange={({ currentTarget }) => {
        const chosen = new FormData(currentTarget.form ?? undefined);
        onChoose(mappingOf(variables, heads, (name) => String(chosen.get(`mapping.${name}`) ?? '')));
      }}
    >
      <legend className="px-1 font-medium">Which column is which variable</legend>
      {variables.map((name) => (
        <SelectField
          key={name}
          label={name}
          name={`mapping.${name}`}
          required
          defaultValue={likely(name, heads)}
          options={[{ value: '', label: 'Choose a column' }, ...heads.filter(Boolean)]}
        />
      ))}
      {variables.length === 0 && <p className="text-dim">This workflow takes no variables; no column is used.</p>}
    </fieldset>
  );
}

/** Variable to column; undefined where each column is named as its variable. */
export function mappingOf(
  variables: readonly string[],
  heads: readonly string[],
  chosen: (variable: string) => string,
): Record<string, string> | undefined {
  if (!isAsked(variables, heads)) return undefined;
  return Object.fromEntries(variables.map((name) => [name, chosen(name)]));
}

function isAsked(variables: readonly string[], heads: readonly string[]): boolean {
  return variables.some((name) => !heads.includes(name)) || heads.some((head) => !variables.includes(head));
}

/** The column of that name, or of one that is only spelled otherwise. */
export function likely(name: string, heads: readonly string[]): string {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
  return heads.find((head) => head === name) ?? heads.find((head) => plain(head) === plain(name)) ?? '';
}
