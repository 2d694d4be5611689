import { useId, useState } from 'react';
import { inputClass } from '../../ui/form';
import { Panel } from '../../ui/page';
import type { Editing } from './use-editing';

/** The names of the variables that a run must set. They are part of the revision. */
export function Variables({ editing, mayEdit }: { editing: Editing; mayEdit: boolean }) {
  const id = useId();
  const { variables } = editing.content;
  const [text, setText] = useState(variables.join(', '));
  // Shows changes of the variables that were not typed here, but does not reformat the typed text, for example its
  // commas.
  if (parseNames(text).join() !== variables.join()) setText(variables.join(', '));
  if (!mayEdit) return <Panel title="Variables">{variables.join(', ') || '–'}</Panel>;
  return (
    <Panel title="Variables">
      <label htmlFor={id} className="sr-only">
        Names of variables
      </label>
      <input
        id={id}
        aria-describedby={`${id}-hint`}
        className={`${inputClass} font-mono text-xs`}
        value={text}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => {
          setText(target.value);
          editing.edit({ variables: parseNames(target.value) });
        }}
      />
      <p id={`${id}-hint`} className="mt-1 text-xs text-dim">
        Separated by commas. Scripts read them as environment variables, steps as {'{{NAME}}'}.
      </p>
    </Panel>
  );
}

function parseNames(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}
