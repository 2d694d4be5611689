import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError } from '../../api/api-error';
import { type Job, jobsLaunch } from '../../api/generated';
import { useIdempotencyKey } from '../../api/idempotency';
import { buildWorkflowQuery } from '../../api/queries';
import { Dialog } from '../../ui/dialog';
import { CheckField, Form, TextField } from '../../ui/form';
import { Skeleton } from '../../ui/page';
import { showToast } from '../../ui/toast';
import { AccountsField, readAccounts } from '../guards/accounts';
import { ConcurrencyKeysField, readConcurrencyKeys } from '../guards/concurrency-keys';
import { useLastAgent, WorkflowField } from '../pickers';
import { AgentOrTargetFields, readAgentOrTarget } from '../placement/place-fields';

interface Runnable {
  id: string;
  name: string;
  variables: string[];
}

interface OpenProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

interface RunDialogProps extends OpenProps {
  workflow: Runnable;
  agentId?: string;
}

/** Launches a workflow and opens the page of the new run. */
export function RunDialog({ open, onOpenChange, ...run }: RunDialogProps) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={`Run ${run.workflow.name}`}>
      <RunForm {...run} onOpenChange={onOpenChange} />
    </Dialog>
  );
}

/** Launches the workflow of a run again; its variables are the initial values. */
export function RunAgainDialog({ run, open, onOpenChange }: OpenProps & { run: Job }) {
  const { data: workflow } = useQuery({ ...buildWorkflowQuery(run.workflowId), enabled: open });
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={`Run ${run.workflowName}`}>
      {workflow ? (
        <RunForm
          workflow={workflow}
          agentId={run.agentId ?? undefined}
          target={run.target}
          values={run.variables}
          onOpenChange={onOpenChange}
        />
      ) : (
        <Skeleton rows={3} />
      )}
    </Dialog>
  );
}

/** Launches a workflow that the user chooses in the dialog. */
export function RunAnyDialog({ open, onOpenChange }: OpenProps) {
  const [id, setId] = useState('');
  const { data: workflow } = useQuery({ ...buildWorkflowQuery(id), enabled: open && id !== '' });
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="Run a workflow">
      <WorkflowField name="workflowId" choose={setId} />
      {workflow && workflow.id === id && <RunForm key={id} workflow={workflow} onOpenChange={onOpenChange} />}
    </Dialog>
  );
}

interface RunFormProps {
  workflow: Runnable;
  agentId?: string;
  target?: Job['target'];
  /** Initial values of the variables. */
  values?: Record<string, string>;
  onOpenChange: (open: boolean) => void;
}

/**
 * The form is mounted each time the dialog opens, so that each opening has its own idempotency key and starts another
 * run.
 */
function RunForm({ workflow, agentId, target, values: initial = {}, onOpenChange }: RunFormProps) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const keyOf = useIdempotencyKey();
  const { data: last, isPending } = useLastAgent(workflow.id, agentId === undefined);
  const [variables, setVariables] = useState(initial);
  if (agentId === undefined && isPending) return <Skeleton rows={3} />;
  return (
    <Form
      submit="Run now"
      onSubmit={async (values) => {
        const entries = workflow.variables.map((name) => {
          const isEmpty = values.readFlag(`empty.${name}`);
          return { name, isEmpty, value: isEmpty ? '' : values.readExactText(`variables.${name}`) };
        });
        const untouched = entries.filter(({ isEmpty, value }) => value === '' && !isEmpty);
        if (untouched.length > 0) throw createEmptyFieldsError(untouched.map(({ name }) => name));
        const variables = Object.fromEntries(entries.map(({ name, value }) => [name, value]));
        const concurrencyKeys = readConcurrencyKeys(values);
        const accounts = readAccounts(values);
        const body = {
          workflowId: workflow.id,
          ...readAgentOrTarget(values),
          variables,
          concurrencyKeys,
          accounts,
        };
        return jobsLaunch({ body, headers: keyOf(body) });
      }}
      onDone={({ jobId }) => {
        onOpenChange(false);
        showToast('The run is queued.');
        void client.invalidateQueries({ queryKey: ['runs'] });
        void navigate({ to: '/runs/$id', params: { id: jobId } });
      }}
    >
      {workflow.variables.map((name) => (
        <VariableField
          key={name}
          name={name}
          initial={initial[name]}
          onSettle={(value) => setVariables((before) => ({ ...before, [name]: value }))}
        />
      ))}
      <AgentOrTargetFields
        workflowId={workflow.id}
        agentId={agentId}
        target={target}
        likely={last}
        variables={pickValues(workflow.variables, variables)}
      />
      <details>
        <summary className="font-medium">Guards</summary>
        <div className="mt-3 flex flex-col gap-3">
          <ConcurrencyKeysField hint="These keys are in addition to those of the workflow. The run waits until each key is below its limit." />
          <AccountsField hint="These accounts are in addition to those of the workflow. The run waits until each pool has a free account." />
        </div>
      </details>
    </Form>
  );
}

interface VariableFieldProps {
  name: string;
  initial: string | undefined;
  /** Called with the value when the user leaves the field. */
  onSettle: (value: string) => void;
}

/** Field of a variable. An empty value must be confirmed with a checkbox. */
function VariableField({ name, initial, onSettle }: VariableFieldProps) {
  const [text, setText] = useState(initial ?? '');
  return (
    <div className="flex flex-col gap-1">
      <TextField
        label={name}
        name={`variables.${name}`}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onBlur={() => onSettle(text)}
        autoComplete="off"
      />
      {text === '' && <CheckField label="Empty on purpose" name={`empty.${name}`} initial={initial === ''} />}
    </div>
  );
}

/** Returns the values of these variables that are not empty. */
function pickValues(names: readonly string[], values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (values[name] ? [[name, values[name]]] : [])));
}

function createEmptyFieldsError(names: string[]): ApiError {
  const errors = names.map((name) => ({
    field: `variables.${name}`,
    message: 'Enter a value, or select “Empty on purpose”.',
  }));
  const detail = names.length === 1 ? 'A variable has no value.' : 'Some variables have no value.';
  return new ApiError(400, { code: 'invalid_payload', detail, errors });
}
