import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment, useState } from 'react';
import { encodeAsForm } from '../../../api/encode-as-form';
import {
  batchesCheck,
  batchesCreate,
  type CheckedBatch,
  type CreatedBatch,
  type Workflow,
} from '../../../api/generated';
import { useIdempotencyKey } from '../../../api/idempotency';
import { formatCount } from '../../../format/format';
import { sortByLikelihood, useAgentChoices, useLastAgent } from '../../../parts/pickers';
import { AgentOrTargetFields, readAgentOrTarget } from '../../../parts/placement/place-fields';
import { getButtonClass } from '../../../ui/button';
import { Dialog, DialogActions } from '../../../ui/dialog';
import { ErrorNote } from '../../../ui/error-note';
import { Field, Form, inputClass, TextAreaField } from '../../../ui/form';
import { LongList } from '../../../ui/table/long-list';
import { useDelayedText } from '../../../ui/table/use-typed';
import { ColumnMapping, findSimilarColumn, buildMapping } from './columns';
import { parseCsv } from './parse-csv';
import { convertToCsv } from './typed-rows';

const previewRows = 6;
const previewBytes = 64 * 1024;
/** Milliseconds without typing after which typed rows are checked. */
const pauseMs = 400;

type BatchWorkflow = Pick<Workflow, 'id' | 'name' | 'variables' | 'revision'>;

interface BatchDialogProps {
  workflow: BatchWorkflow;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Launches one run per row of a table, spread over agents. Invalid rows are listed with their errors. */
export function BatchDialog({ workflow, open, onOpenChange }: BatchDialogProps) {
  const [created, setCreated] = useState<CreatedBatch | null>(null);
  const changeOpen = (next: boolean) => {
    setCreated(null);
    onOpenChange(next);
  };
  return (
    <Dialog open={open} onOpenChange={changeOpen} title={`Batch ${workflow.name}`} wide>
      {created ? <BatchOutcome batch={created} /> : <BatchForm workflow={workflow} created={setCreated} />}
    </Dialog>
  );
}

function BatchForm({ workflow, created }: { workflow: BatchWorkflow; created: (batch: CreatedBatch) => void }) {
  const [preview, setPreview] = useState<string[][]>([]);
  const [file, setFile] = useState<File | null>(null);
  const [mapping, setMapping] = useState<Record<string, string> | undefined>();
  const [isFile, setIsFile] = useState(false);
  const heads = preview[0] ?? [];
  const client = useQueryClient();
  const keyOf = useIdempotencyKey();
  const showTable = (text: string) => {
    const rows = parseCsv(text, previewRows);
    const [names = []] = rows;
    setPreview(rows);
    setMapping(buildMapping(workflow.variables, names, (name) => findSimilarColumn(name, names)));
  };
  const showTypedRows = (text: string) => {
    const csv = convertToCsv(text, workflow.variables);
    setFile(csv === '' ? null : new File([csv], 'rows.csv', { type: 'text/csv' }));
    showTable(csv);
  };
  const [typed, typeRows] = useDelayedText('', showTypedRows, pauseMs);
  const check = useBatchCheck(workflow, preview.length > 0 ? file : null, mapping);
  return (
    <Form
      submit="Queue batch"
      onSubmit={(values) => {
        const rows = values.readExactText('rows');
        const file = values.readFile('file') ?? new File([convertToCsv(rows, workflow.variables)], 'rows.csv');
        const { target } = readAgentOrTarget(values);
        const place = target
          ? { target: JSON.stringify(target) }
          : { agentIds: JSON.stringify(values.readAll('agentIds')) };
        const chosen =
          rows === ''
            ? buildMapping(workflow.variables, heads, (name) => values.readText(`mapping.${name}`))
            : undefined;
        const fields = { ...place, ...readTable(workflow, chosen) };
        const form = encodeAsForm({ ...fields, file });
        const { name, size, lastModified } = file;
        const table = rows === '' ? { name, size, lastModified } : { rows };
        const headers = { ...form.headers, ...keyOf({ fields, ...table }) };
        return batchesCreate({ ...form, headers });
      }}
      onDone={(batch) => {
        void client.invalidateQueries({ queryKey: ['runs'] });
        created(batch);
      }}
    >
      {workflow.variables.length > 0 && (
        <TextAreaField
          label="Rows"
          name="rows"
          hint={`One run per line: ${workflow.variables.join(', ')}. Rows can be pasted from a spreadsheet.`}
          value={typed}
          onChange={({ target }) => typeRows(target.value)}
          disabled={isFile}
          spellCheck={false}
        />
      )}
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
            required={typed.trim() === ''}
            disabled={typed.trim() !== ''}
            className={inputClass}
            onChange={({ target }) => {
              const file = target.files?.[0];
              setFile(file ?? null);
              setIsFile(file !== undefined);
              if (!file) return setPreview([]);
              void file.slice(0, previewBytes).text().then(showTable);
            }}
          />
        )}
      </Field>
      {preview.length > 0 && <TablePreview rows={preview} rejected={check.data?.rejected ?? []} />}
      {preview.length > 0 && <CheckedRows check={check.data} isChecking={check.isFetching} error={check.error} />}
      <ColumnMapping key={heads.join()} variables={workflow.variables} heads={heads} onChoose={setMapping} />
      <AgentOrTargetFields workflowId={workflow.id} named={<AgentsField workflowId={workflow.id} />} />
    </Form>
  );
}

/** Agents over which the rows are distributed; at first the most likely one is selected. */
function AgentsField({ workflowId }: { workflowId: string }) {
  const { data: agents = [] } = useAgentChoices();
  const { data: last } = useLastAgent(workflowId);
  const [chosen, setChosen] = useState<string[] | null>(null);
  const sorted = sortByLikelihood(agents, last);
  return (
    <Field label="Agents" name="agentIds" hint="Rows are distributed over the selected agents.">
      {(control) => (
        <select
          {...control}
          multiple
          required
          className={`${inputClass} min-h-28`}
          value={chosen ?? sorted.slice(0, 1).map(({ id }) => id)}
          onChange={({ target }) => setChosen([...target.selectedOptions].map(({ value }) => value))}
        >
          {sorted.map(({ id, name, status }) => (
            <option key={id} value={id}>
              {name} ({status})
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

type Mapping = Record<string, string> | undefined;

/** Columns and preview of the table. */
function readTable({ id: workflowId }: BatchWorkflow, mapping: Mapping) {
  return { workflowId, ...(mapping ? { mapping: JSON.stringify(mapping) } : {}) };
}

/** Validates the rows before anything is queued, as soon as every variable has a column. */
function useBatchCheck(workflow: BatchWorkflow, file: File | null, mapping: Mapping) {
  const isChosen = Object.values(mapping ?? {}).every(Boolean);
  return useQuery({
    queryKey: ['batch-check', workflow.id, workflow.revision, file?.name, file?.size, file?.lastModified, mapping],
    queryFn: ({ signal }) =>
      batchesCheck({ ...encodeAsForm({ ...readTable(workflow, mapping), file: file! }), signal }),
    enabled: file !== null && isChosen,
    retry: false,
    gcTime: 0,
  });
}

interface CheckedProps {
  check: CheckedBatch | undefined;
  isChecking: boolean;
  error: Error | null;
}

function CheckedRows({ check, isChecking, error }: CheckedProps) {
  if (error) return <ErrorNote error={error} />;
  if (!check) return isChecking ? <p role="status">Checking the rows…</p> : null;
  const { total, wrong, rejected } = check;
  return (
    <div className="flex flex-col gap-2">
      <p role="status">
        {wrong === 0
          ? total === 1
            ? 'The row is valid.'
            : `All ${formatCount(total)} rows are valid.`
          : `${formatCount(wrong)} of ${formatCount(total)} rows are invalid and cannot be queued.`}
      </p>
      {wrong > 0 && <RejectedRows label="Rows that cannot be queued" rows={rejected} />}
    </div>
  );
}

function RejectedRows({ label, rows }: { label: string; rows: CheckedBatch['rejected'] }) {
  return (
    <LongList
      label={label}
      items={rows}
      row={({ row, errors }) => (
        <>
          <span className="font-medium">Row {formatCount(row)}:</span> {errors.join('; ')}
        </>
      )}
    />
  );
}

function TablePreview({
  rows: [heads = [], ...rows],
  rejected,
}: {
  rows: string[][];
  rejected: CheckedBatch['rejected'];
}) {
  const getRowErrors = (at: number) => rejected.find(({ row }) => row === at + 1)?.errors;
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
              <Fragment key={at}>
                <tr>
                  {heads.map((_, column) => (
                    <td key={column} className="max-w-60 truncate">
                      <bdi>{row[column]}</bdi>
                    </td>
                  ))}
                </tr>
                {getRowErrors(at) && (
                  <tr data-testid="row-errors">
                    <td colSpan={heads.length} className="border-t-0! text-bad">
                      {getRowErrors(at)!.join('; ')}
                    </td>
                  </tr>
                )}
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function BatchOutcome({ batch }: { batch: CreatedBatch }) {
  return (
    <div className="flex flex-col gap-3">
      <p role="status">
        {formatCount(batch.queued)} runs are queued
        {batch.rejected.length > 0 && `, ${formatCount(batch.rejected.length)} rows were rejected`}.
      </p>
      {batch.rejected.length > 0 && <RejectedRows label="Rejected rows" rows={batch.rejected} />}
      <DialogActions>
        <Link to="/runs" search={{ batchId: batch.batchId }} className={getButtonClass('primary')}>
          View runs
        </Link>
      </DialogActions>
    </div>
  );
}
