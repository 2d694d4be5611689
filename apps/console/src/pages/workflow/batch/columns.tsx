import { SelectField } from '../../../ui/form';

interface ColumnsProps {
  variables: readonly string[];
  heads: readonly string[];
  /** Called with the mapping of variables to columns after each choice. */
  onChoose: (mapping: Record<string, string> | undefined) => void;
}

/** Lets the user select the column of each variable. */
export function ColumnMapping({ variables, heads, onChoose }: ColumnsProps) {
  if (heads.length === 0 || !needsMapping(variables, heads)) return null;
  return (
    <fieldset
      className="flex flex-col gap-2.5 rounded-control border border-line p-3"
      onChange={({ currentTarget }) => {
        const chosen = new FormData(currentTarget.form ?? undefined);
        onChoose(buildMapping(variables, heads, (name) => String(chosen.get(`mapping.${name}`) ?? '')));
      }}
    >
      <legend className="px-1 font-medium">Column for each variable</legend>
      {variables.map((name) => (
        <SelectField
          key={name}
          label={name}
          name={`mapping.${name}`}
          required
          defaultValue={findSimilarColumn(name, heads)}
          options={[{ value: '', label: 'Choose a column' }, ...heads.filter(Boolean)]}
        />
      ))}
      {variables.length === 0 && (
        <p className="text-dim">The workflow has no variables, so no column of the table is used.</p>
      )}
    </fieldset>
  );
}

/** Maps variables to columns; undefined if each column has the name of its variable. */
export function buildMapping(
  variables: readonly string[],
  heads: readonly string[],
  chosen: (variable: string) => string,
): Record<string, string> | undefined {
  if (!needsMapping(variables, heads)) return undefined;
  return Object.fromEntries(variables.map((name) => [name, chosen(name)]));
}

function needsMapping(variables: readonly string[], heads: readonly string[]): boolean {
  return variables.some((name) => !heads.includes(name)) || heads.some((head) => !variables.includes(head));
}

/** Returns the column with the variable's name, or one that differs only in case or punctuation; '' if none. */
export function findSimilarColumn(name: string, heads: readonly string[]): string {
  const normalizeName = (text: string) => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
  return heads.find((head) => head === name) ?? heads.find((head) => normalizeName(head) === normalizeName(name)) ?? '';
}
