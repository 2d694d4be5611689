import { useState } from 'react';
import { Dialog } from '../../../ui/dialog';
import { Field, Form, inputClass, SelectField, TextField } from '../../../ui/form';
import type { Step } from '../use-editing';
import {
  fieldsOfType,
  pickPropertiesWithoutField,
  getStepId,
  fitsFormField,
  createStepId,
  numberFields,
} from './step-words';

interface StepDialogProps {
  /** Undefined for a new step. */
  step: Step | undefined;
  others: readonly Step[];
  close: () => void;
  done: (step: Step) => void;
}

/** Edits one step: the fields of its type, and its other properties as JSON. */
export function StepDialog({ step, others, close, done }: StepDialogProps) {
  const [type, setType] = useState(typeof step?.['type'] === 'string' ? step['type'] : 'click');
  const fields = fieldsOfType[type] ?? [];
  const types = Object.keys(fieldsOfType);
  const further = step ? pickPropertiesWithoutField(step, fields) : {};
  return (
    <Dialog
      open
      onOpenChange={close}
      title={step ? `Edit step ${getStepId(step)}` : 'New step'}
      description="{{NAME}} in a text is replaced by the variable or the vault secret with that name."
    >
      <Form
        submit={step ? 'Apply' : 'Add'}
        onSubmit={async (values) => {
          const filled = fields
            .filter((name) => values.readExactText(name) !== '')
            .map((name) => [name, numberFields.includes(name) ? values.readNumber(name) : values.readExactText(name)]);
          const id = step ? getStepId(step) : createStepId(type, others);
          return { id, type, ...(Object.fromEntries(filled) as Step), ...values.readJson('further') };
        }}
        onDone={(made) => {
          done(made);
          close();
        }}
      >
        <SelectField
          label="Type"
          name="type"
          value={type}
          options={types.includes(type) ? types : [type, ...types]}
          onChange={({ target }) => setType(target.value)}
        />
        {fields.map((name) =>
          name === 'code' ? (
            <Field key={name} label="Code" name={name}>
              {(control) => (
                <textarea
                  {...control}
                  rows={6}
                  spellCheck={false}
                  defaultValue={getFieldText(step, name)}
                  className={`${inputClass} font-mono text-xs`}
                />
              )}
            </Field>
          ) : (
            <TextField
              key={name}
              label={labels[name] ?? name}
              name={name}
              type={numberFields.includes(name) ? 'number' : 'text'}
              step="any"
              defaultValue={getFieldText(step, name)}
              hint={hints[name]}
              autoComplete="off"
            />
          ),
        )}
        <Field label="Further fields" name="further" hint="All other properties of the step as a JSON object.">
          {(control) => (
            <textarea
              {...control}
              key={type}
              rows={4}
              spellCheck={false}
              defaultValue={Object.keys(further).length > 0 ? JSON.stringify(further, null, 2) : ''}
              className={`${inputClass} font-mono text-xs`}
            />
          )}
        </Field>
      </Form>
    </Dialog>
  );
}

const labels: Record<string, string> = {
  url: 'URL',
  selector: 'Selector',
  field: 'Form field',
  text: 'Text',
  value: 'Value',
  key: 'Key',
  path: 'Path',
  expression: 'Expression',
  as: 'Name in the result',
  ms: 'Milliseconds',
  name: 'Name',
};

const hints: Record<string, string> = {
  selector: 'CSS, xpath/…, text/… or aria/….',
  field: 'Label, name or placeholder of the field. Replaces a selector.',
  path: 'Relative to the folder of the run.',
};

function getFieldText(step: Step | undefined, name: string): string {
  const value = step?.[name];
  return fitsFormField(name, value) ? String(value) : '';
}
