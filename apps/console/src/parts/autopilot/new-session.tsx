import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { autopilotAct, type AutopilotBody, type AutopilotTask } from '../../api/generated';
import { ApiError } from '../../api/api-error';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ErrorNote } from '../../ui/error-note';
import { CheckField, Field, Form, inputClass, SelectField, TextField } from '../../ui/form';
import { showToast } from '../../ui/toast';
import { AgentField, WorkflowField } from '../pickers';

type Source = 'intent' | 'workflow' | 'task';

const sources = [
  { value: 'intent', label: 'A description in words' },
  { value: 'workflow', label: 'A workflow and what is missing in it' },
  { value: 'task', label: 'A task in JSON' },
];
const limits = [
  { name: 'steps', label: 'Maximum steps', placeholder: '50' },
  { name: 'attemptsPerStep', label: 'Attempts per step', placeholder: '5' },
  { name: 'minutes', label: 'Maximum minutes', placeholder: '60' },
  { name: 'costUsd', label: 'Maximum cost in US dollars', placeholder: '5' },
] as const;

interface NewSessionProps {
  agentId?: string;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Starts an autopilot session. The user can read and change the task before it starts. */
export function NewSessionDialog({ agentId, open, onOpenChange }: NewSessionProps) {
  const navigate = useNavigate();
  const client = useQueryClient();
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="New session" wide>
      <SessionForm
        agentId={agentId}
        begun={(sessionId) => {
          onOpenChange(false);
          showToast('The session is queued.');
          void client.invalidateQueries({ queryKey: ['autopilot-sessions'] });
          void navigate({ to: '/autopilot/$id', params: { id: sessionId } });
        }}
      />
    </Dialog>
  );
}

function SessionForm({ agentId, begun }: { agentId?: string; begun: (sessionId: string) => void }) {
  const [source, setSource] = useState<Source>('intent');
  const [task, setTask] = useState('');
  const frame = useRef<HTMLDivElement>(null);
  const writing = useMutation({
    mutationFn: async (): Promise<AutopilotTask | undefined> => {
      const readFieldText = (name: string) =>
        String(new FormData(frame.current!.closest('form')!).get(name) ?? '').trim();
      const path = { id: readFieldText('agentId') };
      if (source === 'intent') {
        return (await autopilotAct({ path, body: { action: 'generate-task', intent: readFieldText('intent') } })).task;
      }
      const gap = readFieldText('gap');
      const body: AutopilotBody = {
        action: 'analyze-script',
        workflowId: readFieldText('workflowId'),
        ...(gap ? { gap } : {}),
      };
      return (await autopilotAct({ path, body })).plan?.task;
    },
    onSuccess: (written) => setTask(JSON.stringify(written, null, 2)),
  });
  return (
    <Form
      submit="Start session"
      onSubmit={(values) => {
        const body: AutopilotBody = {
          action: 'start',
          ...(task.trim() ? { task: parseTask(task) } : { intent: values.readText('intent') }),
          inputs: parseInputs(values.readExactText('inputs')),
          vaultKeys: values
            .readText('vaultKeys')
            .split(/[\s,]+/)
            .filter(Boolean),
          approve: values.readFlag('approve') ? 'before_submit' : 'never',
          limits: Object.fromEntries(
            limits.flatMap(({ name }) => {
              const number = values.readNumber(`limits.${name}`);
              return number === null ? [] : [[name, number]];
            }),
          ),
        };
        const workflowName = values.readText('workflowName');
        if (workflowName) body.workflowName = workflowName;
        return autopilotAct({ path: { id: values.readText('agentId') }, body });
      }}
      onDone={({ sessionId }) => sessionId && begun(sessionId)}
    >
      {agentId ? <input type="hidden" name="agentId" value={agentId} /> : <AgentField name="agentId" />}
      <SelectField
        label="Start from"
        name="source"
        options={sources}
        value={source}
        onChange={({ target }) => setSource(target.value as Source)}
      />
      <div ref={frame} className="contents">
        {source === 'intent' && (
          <Field
            label="Description"
            name="intent"
            hint="Describe the task, and include the address of the first page. For a value that changes from run to run, write a name such as CLAIM_ID."
          >
            {(control) => (
              <textarea {...control} rows={4} required={!task.trim()} maxLength={8000} className={inputClass} />
            )}
          </Field>
        )}
        {source === 'workflow' && (
          <>
            <WorkflowField name="workflowId" />
            <TextField label="What is missing" name="gap" maxLength={8000} autoComplete="off" />
          </>
        )}
      </div>
      {source !== 'task' && (
        <div>
          <Button busy={writing.isPending} onClick={() => writing.mutate()}>
            Generate task
          </Button>
          <span className="ml-2 text-dim">
            {source === 'intent'
              ? 'Check the task before you start the session.'
              : 'You can then start a session with the task.'}
          </span>
        </div>
      )}
      {writing.isError && <ErrorNote error={writing.error} />}
      {(source === 'task' || task !== '') && (
        <Field label="Task" name="task" hint="JSON: title, goal, startUrl, inputs, steps, success.">
          {(control) => (
            <textarea
              {...control}
              rows={12}
              required={source !== 'intent'}
              spellCheck={false}
              value={task}
              onChange={({ target }) => setTask(target.value)}
              className={`${inputClass} font-mono text-xs`}
            />
          )}
        </Field>
      )}
      <Field label="Inputs" name="inputs" hint="One NAME=value per line, for the names that the task’s steps use.">
        {(control) => (
          <textarea {...control} rows={3} spellCheck={false} className={`${inputClass} font-mono text-xs`} />
        )}
      </Field>
      <TextField
        label="Secrets"
        name="vaultKeys"
        hint="Names of the vault secrets that the steps are allowed to use, separated by commas. The values are never sent to a language model."
        autoComplete="off"
      />
      <TextField label="Name of the new workflow" name="workflowName" maxLength={200} autoComplete="off" />
      <CheckField label="Ask before submitting data" name="approve" initial />
      <details>
        <summary>Limits</summary>
        <div className="mt-2 grid gap-3 sm:grid-cols-2">
          {limits.map(({ name, label, placeholder }) => (
            <TextField
              key={name}
              label={label}
              name={`limits.${name}`}
              type="number"
              step="any"
              min={0}
              placeholder={placeholder}
            />
          ))}
        </div>
      </details>
    </Form>
  );
}

function parseTask(text: string): AutopilotTask {
  try {
    return JSON.parse(text) as AutopilotTask;
  } catch (error) {
    throw createFieldError('task', (error as Error).message);
  }
}

function parseInputs(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^\s*([^=\s]+)\s*=(.*)$/.exec(line) ?? [];
      if (!name) throw createFieldError('inputs', `“${line.trim().slice(0, 40)}” is not in the form NAME=value.`);
      return [name, value!.trim()];
    }),
  );
}

/** Returns an error of a form field in the format of the service's errors, for a text that cannot be parsed. */
function createFieldError(field: string, message: string): ApiError {
  const detail = 'One of the fields is not valid. Correct it and try again.';
  return new ApiError(400, { code: 'invalid_payload', detail, errors: [{ field, message }] });
}
