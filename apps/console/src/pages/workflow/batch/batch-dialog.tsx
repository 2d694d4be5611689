import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { asForm } from '../../../api/as-form';
import { batchesCreate, type CreatedBatch, type Workflow } from '../../../api/generated';
import { useIdempotencyKey } from '../../../api/idempotency';
import { formatCount } from '../../../format/format';
import { useAgentChoices } from '../../../parts/pickers';
import { buttonClass } from '../../../ui/button';
import { Dialog, DialogActions } from '../../../ui/dialog';
import { Field, Form, inputClass } from '../../../ui/form';
import { LongList } from '../../../ui/table/long-list';
import { Columns, mappingOf } from './columns';
import { readCsv } from './read-csv';

const previewRows = 6;
const previewBytes = 64 * 1024;

interface BatchDialogProps {
  workflow: Workflow;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** One run for each row of a table, spread over agents; rows that cannot be are named with what is wrong with them. */
export function BatchDialog({ workflow, open, onOpenChange }: BatchDialogProps) {
  const [created, setCreated] = useState<CreatedBatch | null>(null);
  const change = (next: boolean) => {
    setCreated(null);
    onOpenChange(next);
  };
  return (
    <Dialog open={open} onOpenChange={change} title={`Batch ${workflow.name}`} wide>
      {created ? <Outcome batch={created} /> : <BatchForm workflow={workflow} created={setCreated} />}
    </Dialog>
  );
}

function BatchForm({ workflow, created }: { workflow: Workflow; created: (batch: CreatedBatch) => void }) {
  const [preview, setPreview] = useState<string[][]>([]);
  const heads = preview[0] ?? [];
  const client = useQueryClient();
  const keyOf = useIdempotencyKey();
  const { data: agents = [] } = useAgentChoices();
  return (
    <Form
      submit="Queue batch"
      onSubmit={(values) => {
        const file = values.file('file')!;
        const agentIds = JSON.stringify(values.all('agentIds'));
        const mapping = mappingOf(workflow.variables, heads, (name) => values.text(`mapping.${name}`));
        const fields = { workflowId: workflow.id, agentIds, ...(mapping ? { mapping: JSON.stringify(mapping) } : {}) };
        const form = asForm({ ...fields, file });
        const { name, size, lastModified } = file;
        const headers = { ...form.headers, ...keyOf({ fields, name, size, lastModified }) };
        return batchesCreate({ ...form, headers });
      }}
      onDone={(batch) => {
        void client.invalidateQueries({ queryKey: ['runs'] });
        created(batch);
      }}
    >
      <Field
        label="CSV file"
        name="file"
        hint={`The first row names the columns: ${workflow.variables.join(', ') || 'this workflow takes no variables'}.`}
      >
        {(control) => (
          <input
            {...control}
            type="file"
            accept=".csv,text/csv"
            required
            className={inputClass}
            onChange={({ target }) => {
              const file = target.files?.[0];
              if (!file) return setPreview([]);
              void file
                .slice(0, previewBytes)
                .text()
                .then((text) => setPreview(readCsv(text, previewRows)));
            }}
          />
        )}
      </Field>
      {preview.length > 0 && <Preview rows={preview} />}
      <Columns key={heads.join()} variables={workflow.variables} heads={heads} />
      <Field label="Agents" name="agentIds" hint="Rows are spread over all that are chosen.">
        {(control) => (
          <select {...control} multiple required className={`${inputClass} min-h-28`}>
            {agents.map(({ id, name, status }) => (
              <option key={id} value={id}>
                {name} ({status})
              </option>
            ))}
          </select>
        )}
      </Field>
    </Form>
  );
}

function Preview({ rows: [heads = [], ...rows] }: { rows: string[][] }) {
  return (
    <div>
      <div
        tabIndex={0}
        role="region"
        aria-label="The first rows"
        className="overflow-x-auto rounded-control border border-line"
      >
        <table className="w-full font-mono text-xs [&_td]:border-t [&_td]:border-line [&_td,&_th]:px-2 [&_td,&_th]:py-1">
          <thead className="text-left">
            <tr>
              {heads.map((head, at) => (
                <th key={at} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                {heads.map((_, column) => (
                  <td key={column} className="max-w-60 truncate">
                    <bdi>{row[column]}</bdi>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function Outcome({ batch }: { batch: CreatedBatch }) {
  return (
    <div className="flex flex-col gap-3">
      <p role="status">
        {formatCount(batch.queued)} runs are queued
        {batch.rejected.length > 0 && `, ${formatCount(batch.rejected.length)} rows are refused`}.
      </p>
      {batch.rejected.length > 0 && (
        <LongList
          label="Refused rows"
          items={batch.rejected}
          row={({ row, errors }) => (
            <>
              <span className="font-medium">Row {formatCount(row)}:</span> {errors.join('; ')}
            </>
          )}
        />
      )}
      <DialogActions>
        <Link to="/runs" search={{ batchId: batch.batchId }} className={buttonClass('primary')}>
          Its runs
        </Link>
      </DialogActions>
    </div>
  );
}
